//! Reads the elements of a JSON array one by one, so that a large file needs little memory, and a broken element does
//! not cost the others.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
};

use memory_engine_intake::without_lone_surrogates;

use crate::error::{ImportError, RowError};

/// Iterates over the elements of an array. A broken element is one whose text is no JSON.
#[derive(Debug)]
pub(crate) struct JsonArray<R> {
    input: R,
    /// Bytes that were read and belong to later elements.
    unread: VecDeque<u8>,
    position: u64,
    /// A key of all elements, by which the next one is found after a broken one.
    key: Option<&'static str>,
    state: State,
}

/// An element: its text without lone surrogates, and its length in the file in bytes.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) text: Result<String, RowError>,
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Within,
    End,
}

impl<R: BufRead> JsonArray<R> {
    /// Reads the array of this input. Another JSON value is an array without elements.
    pub(crate) fn new(input: R) -> Self {
        Self { input, unread: VecDeque::new(), position: 0, key: None, state: State::Start }
    }

    /// Sets a key of all elements, by which the next element is found after a broken one.
    pub(crate) fn with_key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    fn read(&mut self) -> Result<Option<Element>, ImportError> {
        if self.state == State::Start {
            self.state = if self.next_significant()? == Some(b'[') { State::Within } else { State::End };
        }
        if self.state == State::End {
            return Ok(None);
        }
        let began = self.position;
        let (mut bytes, end) = self.read_element()?;
        self.state = if end == Some(b',') { State::Within } else { State::End };
        let is_blank = bytes.iter().all(u8::is_ascii_whitespace);
        if is_blank && end == Some(b']') {
            return Ok(None);
        }
        if is_blank && end.is_none() {
            return Err(ImportError::BrokenList {
                byte: self.position,
                problem: "the file ends within the list".to_owned(),
            });
        }
        let mut text = text_of(&bytes);
        if text.is_err()
            && let Some(next) = self.next_element(&bytes)
        {
            let mut unread: VecDeque<u8> = bytes.split_off(next).into();
            unread.extend(end);
            self.position -= unread.len() as u64;
            unread.append(&mut self.unread);
            self.unread = unread;
            self.state = State::Within;
        } else if text.is_err() && end.is_none() {
            text = Err(RowError::CutOff);
        }
        Ok(Some(Element { text, bytes: self.position - began }))
    }

    /// Reads up to the comma or the bracket that ends an element. Returns `None` for it at the end of the file.
    fn read_element(&mut self) -> io::Result<(Vec<u8>, Option<u8>)> {
        let mut bytes = Vec::new();
        let mut scan = Scan::default();
        while let Some(byte) = self.next_byte()? {
            if scan.ends_element(byte) {
                return Ok((bytes, Some(byte)));
            }
            scan.add(byte);
            bytes.push(byte);
        }
        Ok((bytes, None))
    }

    /// Returns the position of the next element in the bytes of a broken one: after a comma, an object with the key.
    fn next_element(&self, bytes: &[u8]) -> Option<usize> {
        let quoted = format!("\"{}\"", self.key?);
        let is_start = |&at: &usize| {
            let before = bytes[..at].iter().rfind(|byte| !byte.is_ascii_whitespace());
            bytes[at] == b'{' && before == Some(&b',')
        };
        (1..bytes.len()).filter(is_start).find(|at| {
            let mut scan = Scan::default();
            let rest = &bytes[*at..];
            let length = rest.iter().position(|byte| {
                scan.add(*byte);
                scan.depth == 0 && !scan.is_in_string
            });
            let element = &rest[..length.map_or(rest.len(), |length| length + 1)];
            text_of(element).is_ok_and(|text| text.contains(&quoted))
        })
    }

    fn next_significant(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.next_byte()? {
                // A byte order mark may be first.
                Some(byte) if byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&byte) => {}
                other => return Ok(other),
            }
        }
    }

    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = match self.unread.pop_front() {
            Some(byte) => Some(byte),
            None => {
                let byte = self.input.fill_buf()?.first().copied();
                self.input.consume(usize::from(byte.is_some()));
                byte
            }
        };
        self.position += u64::from(byte.is_some());
        Ok(byte)
    }
}

/// The position in JSON text: the depth of brackets, and whether it is within a string.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Returns true if this byte follows an element.
    fn ends_element(&self, byte: u8) -> bool {
        self.depth == 0 && !self.is_in_string && matches!(byte, b',' | b']')
    }

    fn add(&mut self, byte: u8) {
        if self.is_in_string {
            let ends = matches!(byte, b'"' | b'\n') && !self.is_escaped;
            // A string has no line break: its quote is missing.
            self.is_in_string = !ends;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Returns the text of an element without lone surrogates.
fn text_of(bytes: &[u8]) -> Result<String, RowError> {
    let text = std::str::from_utf8(bytes).map_err(|e| RowError::NotUtf8 { byte: e.valid_up_to() + 1 })?.trim();
    let text = without_lone_surrogates(text);
    match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => Ok(text.into_owned()),
        Err(error) => Err(RowError::BrokenElement { line: error.line(), column: error.column() }),
    }
}

impl<R: BufRead> Iterator for JsonArray<R> {
    type Item = Result<Element, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.state = State::End;
        }
        read.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the elements, `!` for a broken one, and the error that ended the list.
    fn read(text: &str) -> (Vec<String>, Option<String>) {
        let mut values = Vec::new();
        for element in JsonArray::new(text.as_bytes()).with_key("k") {
            match element {
                Ok(element) => values.push(element.text.unwrap_or_else(|_| "!".to_owned())),
                Err(error) => return (values, Some(error.to_string())),
            }
        }
        (values, None)
    }

    #[test]
    fn elements_are_read_one_by_one() {
        let (values, error) = read("\u{feff} [ {\"a\": [1]} ,\n{\"b\": \"],{\\\"\"} ] ");
        assert_eq!((values, error), (vec!["{\"a\": [1]}".to_owned(), "{\"b\": \"],{\\\"\"}".to_owned()], None));
        for text in ["[]", "{\"a\": 1}", "", "[ ] "] {
            assert_eq!(read(text), (vec![], None), "{text}");
        }
    }

    #[test]
    fn a_broken_element_does_not_cost_the_others() {
        for (text, expected) in [
            ("[{\"k\": 1}, {\"a\" 1}, {\"k\": 2}]", vec!["{\"k\": 1}", "!", "{\"k\": 2}"]),
            ("[{\"k\": 1} {}, {\"k\": 2}]", vec!["!", "{\"k\": 2}"]),
            // A bracket, a quote, or the rest of an element is missing.
            ("[{\"k\": [1, {\"k\": 2}, {\"k\": 3}]", vec!["!", "{\"k\": 2}", "{\"k\": 3}"]),
            ("[{\"k\": \"x},\n{\"k\": 2},\n{\"k\": 3}]", vec!["!", "{\"k\": 2}", "{\"k\": 3}"]),
            ("[{\"k\": 1, {\"k\": 2}]", vec!["!", "{\"k\": 2}"]),
            ("[{\"k\": \"\\ud83d\"}]", vec!["{\"k\": \"\\ufffd\"}"]),
            ("[{\"k\": 1}, {\"k\": \"x", vec!["{\"k\": 1}", "!"]),
        ] {
            assert_eq!(read(text).0, expected, "{text}");
        }
    }

    #[test]
    fn an_end_within_the_list_is_an_error() {
        assert!(read("[{\"k\": 1}, ").1.unwrap().starts_with("byte "));
    }

    #[test]
    fn the_lengths_add_up() {
        let text = "[{\"a\": 1}, {\"b\": 22}]";
        let bytes: u64 = JsonArray::new(text.as_bytes()).map(|element| element.unwrap().bytes).sum();
        assert!(bytes >= 17 && bytes <= text.len() as u64, "{bytes}");
    }
}
