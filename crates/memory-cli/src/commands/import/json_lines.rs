//! JSON Lines: of our own form, or the rows of a table.

use std::io::BufRead;

use anyhow::Result;
use serde_json::{Map, Value};

use super::row::{Row, Said};
use crate::{line, reader::Lines};

/// Lines of our own form.
pub(crate) fn turns(input: impl BufRead) -> impl Iterator<Item = Result<Row>> {
    rows(input, |keys, seed, _| Ok(vec![Said { keys, seed, vector: None }]))
}

/// Lines that are JSON objects, each made into turns.
pub(crate) fn rows(
    input: impl BufRead,
    mut read: impl FnMut(Map<String, Value>, String, u64) -> Result<Vec<Said>>,
) -> impl Iterator<Item = Result<Row>> {
    Lines::new(input).map(move |line| {
        let line = line.map_err(|e| anyhow::Error::new(e).context("the file cannot be read on"))?;
        let number = line.number;
        let text = line.text.map_err(anyhow::Error::msg);
        let turns = text.and_then(|text| line::object(&text).and_then(|keys| read(keys, text, number)));
        Ok(Row { place: format!("line {number}"), number, bytes: line.bytes, turns })
    })
}
