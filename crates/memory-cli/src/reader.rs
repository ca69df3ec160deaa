//! Reading lines that come from outside: bounded, numbered, and each good or bad by itself.

use std::io::{self, BufRead};

/// The longest line that is read.
pub(crate) const MAX_LINE_BYTES: usize = 4 << 20;

/// A line of a file.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its text, or what is wrong with it.
    pub(crate) text: Result<String, String>,
    /// How many bytes of the file it took.
    pub(crate) bytes: u64,
}

/// Gives the lines of a file, whatever is in them; blank ones are passed over.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut line = Vec::new();
            let read = read_limited(&mut self.input, &mut line)?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let number = self.number;
            let bytes = read as u64;
            if read > MAX_LINE_BYTES {
                let most = MAX_LINE_BYTES >> 20;
                let text = Err(format!("it has {read} bytes; a line may have {most} MiB, split the text"));
                return Ok(Some(Line { number, text, bytes }));
            }
            // Some programs begin a file with a byte order mark.
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
            match std::str::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Ok(Some(Line { number, text: Ok(text.trim().to_owned()), bytes })),
                Err(e) => {
                    let text = Err(format!("byte {} is not UTF-8; save the file as UTF-8", e.valid_up_to() + 1));
                    return Ok(Some(Line { number, text, bytes }));
                }
            }
        }
    }
}

/// Reads to the end of the line, keeping no more of it than is allowed; gives how many bytes it has.
fn read_limited(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            return Ok(read);
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let taken = end.map_or(buffer.len(), |n| n + 1);
        let room = (MAX_LINE_BYTES + 1).saturating_sub(line.len());
        line.extend_from_slice(&buffer[..taken.min(room)]);
        input.consume(taken);
        read += taken;
        if end.is_some() {
            return Ok(read);
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
    fn blank_lines_are_counted_and_passed_over() {
        let lines = read(b"\xef\xbb\xbf{}\r\n\n  \n[]");
        assert_eq!(
            lines.iter().map(|l| (l.number, l.text.clone().unwrap())).collect::<Vec<_>>(),
            [(1, "{}".into()), (4, "[]".into())]
        );
    }

    #[test]
    fn a_bad_line_does_not_hide_the_next() {
        let mut file = vec![b'x'; MAX_LINE_BYTES + 10];
        file.extend_from_slice(b"\n\xff\xfe\n{}\n");
        let lines = read(&file);
        assert!(lines[0].text.as_ref().unwrap_err().contains("4 MiB"));
        assert!(lines[1].text.as_ref().unwrap_err().contains("UTF-8"));
        assert_eq!(lines[2].text.as_deref(), Ok("{}"));
    }
}
