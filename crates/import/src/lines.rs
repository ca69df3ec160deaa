//! Reads the lines of a file, with numbers and a maximum length. An invalid line does not affect the next ones.

use std::io::{self, BufRead};

use crate::error::{MAX_LINE_BYTES, RowError};

/// A line of a file.
#[derive(Debug)]
pub struct Line {
    /// Number, from 1.
    pub number: u64,
    /// Text without white space at both ends, or the reason why the line is invalid.
    pub text: Result<String, RowError>,
    /// Length in the file, in bytes.
    pub bytes: u64,
}

/// Iterates over the lines of a file. Blank lines are counted and skipped.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads lines from this input.
    pub fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = Vec::new();
            let length = read_line_limited(&mut self.input, &mut line)?;
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            let number = self.number;
            let bytes = length as u64;
            if length > MAX_LINE_BYTES {
                let text = Err(RowError::LongLine { bytes: length });
                return Ok(Some(Line { number, text, bytes }));
            }
            // Some programs begin a file with a byte order mark.
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
            match std::str::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Ok(Some(Line { number, text: Ok(text.trim().to_owned()), bytes })),
                Err(e) => {
                    let text = Err(RowError::NotUtf8 { byte: e.valid_up_to() + 1 });
                    return Ok(Some(Line { number, text, bytes }));
                }
            }
        }
    }
}

/// Reads a line with its line break. Appends at most `MAX_LINE_BYTES + 1` bytes to `line`, and returns the length of
/// the whole line; 0 at the end of the file.
fn read_line_limited(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            return Ok(length);
        }
        let line_break = buffer.iter().position(|byte| *byte == b'\n');
        let consumed = line_break.map_or(buffer.len(), |index| index + 1);
        let capacity = (MAX_LINE_BYTES + 1).saturating_sub(line.len());
        line.extend_from_slice(&buffer[..consumed.min(capacity)]);
        input.consume(consumed);
        length += consumed;
        if line_break.is_some() {
            return Ok(length);
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Line> {
        Lines::new(bytes).collect::<io::Result<_>>().unwrap()
    }

    #[test]
    fn blank_lines_are_counted_and_skipped() {
        let lines = read(b"\xef\xbb\xbf{}\r\n\n  \n[]");
        assert_eq!(
            lines.iter().map(|l| (l.number, l.text.as_deref().unwrap())).collect::<Vec<_>>(),
            [(1, "{}"), (4, "[]")]
        );
    }

    #[test]
    fn lines_after_an_invalid_line_are_read() {
        let mut file = vec![b'x'; MAX_LINE_BYTES + 10];
        file.extend_from_slice(b"\n\xff\xfe\n{}\n");
        let lines = read(&file);
        assert!(lines[0].text.as_ref().unwrap_err().to_string().contains("4 MiB"));
        assert!(lines[1].text.as_ref().unwrap_err().to_string().contains("UTF-8"));
        assert_eq!(lines[2].text.as_deref().unwrap(), "{}");
    }
}
