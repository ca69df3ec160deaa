//! Reads comma-separated values in the dialect of Postgres and spreadsheets (RFC 4180).

use std::io::{self, BufRead};

use crate::error::{MAX_LINE_BYTES, RowError};

/// A row of a CSV file.
#[derive(Debug)]
pub(crate) struct CsvRow {
    /// Number of the first line, from 1.
    pub(crate) line: u64,
    /// The cells. An empty cell without quotes is `None`, since Postgres writes NULL in this way.
    pub(crate) cells: Result<Vec<Option<String>>, RowError>,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// Reads the rows of a file. Skips blank lines.
#[derive(Debug)]
pub(crate) struct CsvReader<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> CsvReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    fn read(&mut self) -> io::Result<Option<CsvRow>> {
        let mut row = Vec::new();
        let mut quotes = 0_usize;
        let mut first_line = self.line + 1;
        // A quoted cell may contain line breaks: the row ends with the first line at which the number of quotes is
        // even.
        loop {
            let line_start = row.len();
            if self.input.read_until(b'\n', &mut row)? == 0 {
                break;
            }
            self.line += 1;
            quotes += row[line_start..].iter().filter(|byte| **byte == b'"').count();
            if row.len() > MAX_LINE_BYTES {
                break;
            }
            if quotes.is_multiple_of(2) {
                if !row.trim_ascii().is_empty() {
                    break;
                }
                row.clear();
                first_line = self.line + 1;
            }
        }
        if row.is_empty() {
            return Ok(None);
        }
        let bytes = row.len() as u64;
        Ok(Some(CsvRow { line: first_line, cells: split_cells(&row, quotes), bytes }))
    }
}

impl<R: BufRead> Iterator for CsvReader<R> {
    type Item = io::Result<CsvRow>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Splits a row with this number of quotes into cells.
fn split_cells(row: &[u8], quotes: usize) -> Result<Vec<Option<String>>, RowError> {
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
        let (cell, after_cell) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (cell, after_cell) = unquote(quoted)?;
                (Some(cell), after_cell)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (cell, after_cell) = rest.split_at(end);
                if cell.contains('"') {
                    return Err(RowError::QuoteInCell { cell: cells.len() + 1 });
                }
                // Postgres writes NULL without quotes, and an empty text with them.
                (Some(cell.to_owned()).filter(|cell| !cell.is_empty() && cell != "\\N"), after_cell)
            }
        };
        cells.push(cell);
        match after_cell.strip_prefix(',') {
            Some(next_cell) => rest = next_cell,
            None if after_cell.is_empty() => return Ok(cells),
            None => return Err(RowError::TextAfterQuote { cell: cells.len() }),
        }
    }
}

/// Returns the cell after an opening quote, and the text after its closing quote. Two quotes within a cell stand for
/// one.
fn unquote(text: &str) -> Result<(String, &str), RowError> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let Some((before_quote, after_quote)) = rest.split_once('"') else {
            return Err(RowError::OpenCell);
        };
        cell.push_str(before_quote);
        let Some(after_second_quote) = after_quote.strip_prefix('"') else { return Ok((cell, after_quote)) };
        cell.push('"');
        rest = after_second_quote;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<CsvRow> {
        CsvReader::new(text).collect::<io::Result<_>>().unwrap()
    }

    fn cells(text: &str) -> Vec<(u64, Vec<Option<String>>)> {
        read(text.as_bytes()).into_iter().map(|row| (row.line, row.cells.unwrap())).collect()
    }

    fn some(cells: &[&str]) -> Vec<Option<String>> {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    }

    #[test]
    fn quotes_line_breaks_and_null_of_postgres_are_read() {
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
    fn rows_after_an_invalid_row_are_read() {
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
    fn the_sizes_of_rows_add_up_to_the_file() {
        let text = "id,text\n1,\"a\nb\"\n2,c\n";
        assert_eq!(read(text.as_bytes()).iter().map(|row| row.bytes).sum::<u64>(), text.len() as u64);
    }
}
