//! Regular expressions of the data files.

use memory_engine_text::RegexError;
use serde::Deserialize;

/// An entry of a list of expressions. The file has its examples next to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pattern {
    pub(crate) r#match: String,
}

/// Returns a compiled expression of a data file.
#[expect(clippy::panic, reason = "the expressions are part of the crate, and tests compile each of them")]
pub(crate) fn valid<T>(compiled: Result<T, RegexError>) -> T {
    match compiled {
        Ok(compiled) => compiled,
        Err(error) => panic!("an expression of a data file is invalid: {error}"),
    }
}
