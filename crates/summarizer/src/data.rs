//! Loads word lists and patterns from the data files of the crate.
//!
//! A module declares the shape of its data as a struct and loads it with [`data!`]: the lists, patterns and tables of
//! the Chinese and the English file are joined under their names. The declaration brings a test that loads the files,
//! so that a pattern that does not compile fails a test.

use std::ops::Deref;

use memory_engine_text::{Captures, RegexError, RegexIndex, RegexOptions, SharedRegex, join_lines};
use serde::Deserialize;

/// Declares a static with the joined contents of data files, and the test that loads them. Its type is given as lists
/// of fields, one list for each field type, or as the name of a type.
macro_rules! data {
    ($name:ident = $($file:literal),+; $($type:ty: $($field:ident),+;)+) => {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ModuleData {
            $($($field: $type,)+)+
        }

        $crate::data::data!($name: ModuleData = $($file),+);
    };
    ($name:ident: $type:ty = $($file:literal),+) => {
        memory_engine_text::data!($name: $type = $($file),+);
    };
}

pub(crate) use data;

/// A regular expression of a data file. It ignores case.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Vec<Alternative>")]
pub(crate) struct DataPattern(SharedRegex);

/// An alternative of a pattern: one regular expression, or `any` of a list between `before` and `after`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Alternative {
    Whole(String),
    Any {
        #[serde(default)]
        before: String,
        any: Vec<String>,
        #[serde(default)]
        after: String,
    },
}

impl TryFrom<Vec<Alternative>> for DataPattern {
    type Error = RegexError;

    fn try_from(alternatives: Vec<Alternative>) -> Result<Self, Self::Error> {
        let texts: Vec<String> = alternatives.iter().map(Alternative::regex).collect();
        compiled(&texts.join("|")).map(Self)
    }
}

/// Regular expressions of a data file, each with groups of its own. They ignore case.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Alternative>")]
pub(crate) struct DataPatterns(RegexIndex);

/// Memory limit of the compiled expressions of a [`DataPatterns`] that are kept, in bytes.
const KEPT_PATTERNS_MAX_BYTES: usize = 1 << 20;

impl TryFrom<Vec<Alternative>> for DataPatterns {
    type Error = RegexError;

    fn try_from(alternatives: Vec<Alternative>) -> Result<Self, Self::Error> {
        let texts = alternatives.iter().flat_map(|alternative| match alternative {
            Alternative::Whole(text) => vec![join_lines(text)],
            Alternative::Any { before, any, after } => {
                any.iter().map(|text| [before, text, after].map(|part| join_lines(part)).concat()).collect()
            }
        });
        let texts: Vec<String> = texts.map(|text| regex_text(&text)).collect();
        RegexOptions::ignoring_case().index(&texts, KEPT_PATTERNS_MAX_BYTES).map(Self)
    }
}

impl DataPatterns {
    /// Returns the groups of the first expression that matches a text.
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.0.candidates(text).into_iter().find_map(|position| self.0.captures_iter(position, text).next())
    }
}

impl Alternative {
    fn regex(&self) -> String {
        match self {
            Self::Whole(text) => join_lines(text),
            Self::Any { before, any, after } => {
                let any: Vec<String> = any.iter().map(|text| join_lines(text)).collect();
                format!("{}(?:{}){}", join_lines(before), any.join("|"), join_lines(after))
            }
        }
    }
}

impl Deref for DataPattern {
    type Target = SharedRegex;

    fn deref(&self) -> &SharedRegex {
        &self.0
    }
}

impl DataPattern {
    /// Returns the first match in a text.
    pub(crate) fn first<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).map(|found| found.as_str())
    }

    /// Returns the text before the first match.
    pub(crate) fn before<'t>(&self, text: &'t str) -> &'t str {
        &text[..self.0.find(text).map_or(text.len(), |found| found.start())]
    }
}

/// Compiles a regular expression that ignores case, see [`regex_text`].
pub(crate) fn compiled(text: &str) -> Result<SharedRegex, RegexError> {
    RegexOptions::ignoring_case().compile(&regex_text(text))
}

/// Returns the text of a regular expression for the library. `\b` is the boundary of an ASCII word, because that of
/// Unicode makes the search in Chinese text slow; `(?u:\b)` asks for the latter.
pub(crate) fn regex_text(text: &str) -> String {
    text.replace("(?u:\\b)", "\0").replace("\\b", "(?-u:\\b)").replace('\0', "\\b")
}

#[cfg(test)]
mod tests;
