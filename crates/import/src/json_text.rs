//! A JSON file as a text, with the lines of its values.

use std::io::Read;

use memory_engine_intake::without_lone_surrogates;
use serde_json::value::RawValue;

use crate::error::ImportError;

/// The text of a JSON file, with the positions of its line breaks.
#[derive(Debug)]
pub(crate) struct JsonText {
    text: String,
    line_breaks: Vec<usize>,
}

impl JsonText {
    /// Reads a whole file. Removes a byte order mark, and replaces lone surrogates.
    ///
    /// # Errors
    /// If the file cannot be read, or is not UTF-8.
    pub(crate) fn read(mut input: impl Read) -> Result<Self, ImportError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let text =
            String::from_utf8(bytes).map_err(|e| ImportError::NotUtf8 { byte: e.utf8_error().valid_up_to() + 1 })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(Self::new(without_lone_surrogates(text).into_owned()))
    }

    /// Takes a text.
    pub(crate) fn new(text: String) -> Self {
        let line_breaks = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { text, line_breaks }
    }

    /// Returns the JSON values of the file, one after another.
    ///
    /// # Errors
    /// If the file is not JSON.
    pub(crate) fn documents(&self) -> Result<Vec<&RawValue>, ImportError> {
        let documents = serde_json::Deserializer::from_str(&self.text).into_iter::<&RawValue>();
        documents.map(|value| value.map_err(|e| ImportError::NotJson { line: e.line(), column: e.column() })).collect()
    }

    /// Returns the number of the line that a value of [`documents`](Self::documents), or a part of one, begins on.
    pub(crate) fn line(&self, value: &RawValue) -> usize {
        // A raw value is a slice of the text.
        let offset = value.get().as_ptr() as usize - self.text.as_ptr() as usize;
        self.line_breaks.partition_point(|at| *at < offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_lines() {
        let text = JsonText::read("\u{feff}[\n 1,\n\n {\"a\": 2}]\n3".as_bytes()).unwrap();
        let documents = text.documents().unwrap();
        let elements: Vec<&RawValue> = serde_json::from_str(documents[0].get()).unwrap();
        let lines: Vec<usize> = documents.iter().chain(&elements).map(|value| text.line(value)).collect();
        assert_eq!(lines, [1, 5, 2, 4]);
    }

    #[test]
    fn other_texts_are_errors() {
        assert!(matches!(JsonText::read(&b"[\xff]"[..]), Err(ImportError::NotUtf8 { byte: 2 })));
        let error = JsonText::new("[1,\n}".into()).documents().unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 1"), "{error}");
    }
}
