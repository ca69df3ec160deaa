//! Reads the elements of a JSON array one by one, so that a large file needs little memory.

use std::io::{self, BufRead, Read};

use serde_json::{Deserializer, Value};

use crate::error::ImportError;

/// Iterates over the elements of an array, with the length of each in bytes. An error ends the iteration.
#[derive(Debug)]
pub(crate) struct JsonArray<R> {
    input: CountingReader<R>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Within,
    End,
}

/// Counts the bytes that are read.
#[derive(Debug)]
struct CountingReader<R> {
    input: R,
    bytes: u64,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> CountingReader<R> {
    /// Returns the next byte that is not white space or part of a byte order mark, without consuming it.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let Some(byte) = self.input.fill_buf()?.first().copied() else { return Ok(None) };
            if !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(&byte) {
                return Ok(Some(byte));
            }
            self.skip();
        }
    }

    fn skip(&mut self) {
        self.input.consume(1);
        self.bytes += 1;
    }
}

impl<R: BufRead> JsonArray<R> {
    /// Reads the array of this input. Another JSON value is an array without elements.
    pub(crate) fn new(input: R) -> Self {
        Self { input: CountingReader { input, bytes: 0 }, state: State::Start }
    }

    fn read(&mut self) -> Result<Option<(Value, u64)>, ImportError> {
        if self.state == State::End {
            return Ok(None);
        }
        let separator = if self.state == State::Start { b'[' } else { b',' };
        match self.input.peek()? {
            Some(byte) if byte == separator => self.input.skip(),
            Some(b']') if self.state == State::Within => {
                self.state = State::End;
                return Ok(None);
            }
            None | Some(_) if self.state == State::Start => {
                self.state = State::End;
                return Ok(None);
            }
            None => return Err(self.syntax_error("the file ends within the list")),
            Some(byte) => {
                return Err(self.syntax_error(&format!("'{}' follows an element of the list", byte.escape_ascii())));
            }
        }
        if self.state == State::Start && self.input.peek()? == Some(b']') {
            self.state = State::End;
            return Ok(None);
        }
        self.state = State::Within;
        let began = self.input.bytes;
        let value = Deserializer::from_reader(&mut self.input).into_iter::<Value>().next();
        match value {
            Some(Ok(value)) => Ok(Some((value, self.input.bytes - began))),
            Some(Err(error)) if error.is_io() => Err(ImportError::Read(error.into())),
            Some(Err(error)) => {
                self.state = State::End;
                Err(self.syntax_error(&format!("an element is no JSON: {error}")))
            }
            None => Err(self.syntax_error("the file ends within the list")),
        }
    }

    fn syntax_error(&mut self, problem: &str) -> ImportError {
        self.state = State::End;
        ImportError::BrokenList { byte: self.input.bytes, problem: problem.to_owned() }
    }
}

impl<R: BufRead> Iterator for JsonArray<R> {
    type Item = Result<(Value, u64), ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> (Vec<Value>, Option<String>) {
        let mut values = Vec::new();
        for element in JsonArray::new(text.as_bytes()) {
            match element {
                Ok((value, _)) => values.push(value),
                Err(error) => return (values, Some(error.to_string())),
            }
        }
        (values, None)
    }

    #[test]
    fn elements_are_read_one_by_one() {
        assert_eq!(
            read("\u{feff} [ {\"a\": [1]} ,\n{\"b\": \"],{\"} ] "),
            (vec![json!({"a": [1]}), json!({"b": "],{"})], None)
        );
        assert_eq!(read("[]"), (vec![], None));
        assert_eq!(read("{\"a\": 1}"), (vec![], None));
        assert_eq!(read(""), (vec![], None));
    }

    #[test]
    fn elements_before_a_fault_are_read() {
        for text in ["[{}, {\"a\": ", "[{}, {\"a\" 1}]", "[{}, ", "[{}", "[{} {}]", "[{}, }]"] {
            let (values, error) = read(text);
            assert_eq!(values, [json!({})], "{text}");
            assert!(error.unwrap().starts_with("byte "), "{text}");
        }
    }

    #[test]
    fn the_lengths_add_up() {
        let text = "[{\"a\": 1}, {\"b\": 22}]";
        let bytes: u64 = JsonArray::new(text.as_bytes()).map(|element| element.unwrap().1).sum();
        assert!(bytes >= 17 && bytes <= text.len() as u64, "{bytes}");
    }
}
