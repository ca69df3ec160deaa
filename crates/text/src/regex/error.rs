//! The error of an expression that does not compile.

use std::fmt;

use regex_automata::meta::BuildError;

/// A regular expression does not compile, or is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexError(pub(super) String);

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegexError {}

impl From<BuildError> for RegexError {
    fn from(error: BuildError) -> Self {
        match (error.size_limit(), error.syntax_error()) {
            (Some(limit), _) => Self(format!("the compiled expression exceeds {limit} bytes")),
            (None, Some(syntax)) => Self(syntax.to_string()),
            (None, None) => Self(error.to_string()),
        }
    }
}
