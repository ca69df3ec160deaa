//! Comma-separated values, as Postgres and spreadsheets write them (RFC 4180).

use std::io::{self, BufRead};

use crate::error::{MAX_LINE_BYTES, RowError};

/// A row of cells, with the line on which it begins.
#[derive(Debug)]
pub(crate) struct Cells {
    /// The first line of it, from 1.
    pub(crate) line: u64,
    /// Its cells. An empty cell without quotes is `None`: that is how Postgres writes NULL.
    pub(crate) cells: Result<Vec<Option<String>>, RowError>,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// Gives the rows of a file; blank lines are passed over.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    fn read(&mut self) -> io::Result<Option<Cells>> {
        let (mut row, mut quotes) = (Vec::new(), 0_usize);
        let mut begins = self.line + 1;
        // A row ends with a line at whose end no quote is open.
        loop {
            let from = row.len();
            if self.input.read_until(b'\n', &mut row)? == 0 {
                break;
            }
            self.line += 1;
            quotes += row[from..].iter().filter(|byte| **byte == b'"').count();
            if row.len() > MAX_LINE_BYTES {
                break;
            }
            if quotes % 2 == 0 {
                if !row.trim_ascii().is_empty() {
                    break;
                }
                row.clear();
                begins = self.line + 1;
            }
        }
        if row.is_empty() {
            return Ok(None);
        }
        let bytes = row.len() as u64;
        Ok(Some(Cells { line: begins, cells: split(&row, quotes), bytes }))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Cells>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn split(row: &[u8], quotes: usize) -> Result<Vec<Option<String>>, RowError> {
    if row.len() > MAX_LINE_BYTES {
        return Err(RowError::LongRow);
    }
    if quotes % 2 == 1 {
        return Err(RowError::OpenQuote);
    }
    let text = std::str::from_utf8(row.strip_prefix(b"\xef\xbb\xbf").unwrap_or(row))
        .map_err(|e| RowError::NotUtf8 { byte: e.valid_up_to() + 1 })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut rest = text.strip_suffix('\r').unwrap_or(text);
    let mut cells = Vec::new();
    loop {
        let (cell, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (cell, behind) = unquote(quoted)?;
                (Some(cell), behind)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (cell, behind) = rest.split_at(end);
                if cell.contains('"') {
                    return Err(RowError::QuoteInCell { cell: cells.len() + 1 });
                }
                (Some(cell.to_owned()).filter(|cell| !cell.is_empty() && cell != "\\N"), behind)
            }
        };
        cells.push(cell);
        match behind.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if behind.is_empty() => return Ok(cells),
            None => return Err(RowError::TextAfterQuote { cell: cells.len() }),
        }
    }
}

/// The cell that a quote has opened, and what stands after the quote that closes it. Two quotes are one within it.
fn unquote(text: &str) -> Result<(String, &str), RowError> {
    let (mut cell, mut rest) = (String::new(), text);
    loop {
        let Some((before, behind)) = rest.split_once('"') else {
            return Err(RowError::OpenCell);
        };
        cell.push_str(before);
        let Some(behind) = behind.strip_prefix('"').inspect(|_| cell.push('"')) else { return Ok((cell, behind)) };
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<Cells> {
        Reader::new(text).collect::<io::Result<_>>().unwrap()
    }

    fn cells(text: &str) -> Vec<(u64, Vec<Option<String>>)> {
        read(text.as_bytes()).into_iter().map(|row| (row.line, row.cells.unwrap())).collect()
    }

    fn some(cells: &[&str]) -> Vec<Option<String>> {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    }

    #[test]
    fn quotes_line_breaks_and_null_are_read_as_postgres_writes_them() {
        let rows = cells("\u{feff}id,text\r\n1,\"他说：\"\"好\"\",\n然后走了\"\r\n\n2,\n3,\"\"\n4,\\N");
        let expected = [
            (1, some(&["id", "text"])),
            (2, some(&["1", "他说：\"好\",\n然后走了"])),
            (5, vec![Some("2".into()), None]),
            (6, some(&["3", ""])),
            (7, vec![Some("4".into()), None]),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_bad_row_says_why_and_the_next_is_read() {
        let rows = read(b"a\"b\"c,1\nx,\"y\"z\n\xff\xfe\nfine,2\n\"open,3\n");
        let error = |row: usize| rows[row].cells.as_ref().unwrap_err().to_string();
        assert!(error(0).contains("cell 1 has a quote inside"));
        assert!(error(1).contains("cell 2 goes on"));
        assert!(error(2).contains("UTF-8"));
        assert_eq!((rows[3].line, rows[3].cells.as_ref().unwrap()), (4, &some(&["fine", "2"])));
        assert!(error(4).contains("never closed"));
        assert_eq!(rows.len(), 5);
    }

    #[test]
    fn bytes_add_up_to_the_file() {
        let text = "id,text\n1,\"a\nb\"\n2,c\n";
        assert_eq!(read(text.as_bytes()).iter().map(|row| row.bytes).sum::<u64>(), text.len() as u64);
    }
}
