//! Words and expressions for the values that rules find.

use std::{collections::BTreeMap, sync::LazyLock};

use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::lazy_regex::LazyRegex;

/// The contents of the data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueWords {
    /// Expressions of values that stand for a secret, such as `${TOKEN}`. They match a whole value.
    placeholders: Vec<String>,
    /// Expressions of whole values that are names of versions, standards, files and addresses.
    version_names: Vec<String>,
    /// Common words that are in no list of words for recovery phrases.
    pub(crate) words_outside_of_seeds: Words,
    /// Words that follow "the password is" and are no password.
    pub(crate) password_stop_words: Words,
    /// The length of an IBAN of each country, in characters.
    pub(crate) iban_lengths: BTreeMap<String, usize>,
    /// Words after a number that make it a quantity, such as `characters` or 年.
    pub(crate) units: Words,
}

data!(VALUE_WORDS: ValueWords = "values.toml");

static PLACEHOLDERS: LazyLock<Vec<LazyRegex>> = LazyLock::new(|| expressions(&VALUE_WORDS.placeholders));
static VERSION_NAMES: LazyLock<Vec<LazyRegex>> = LazyLock::new(|| expressions(&VALUE_WORDS.version_names));

fn expressions(data: &'static [String]) -> Vec<LazyRegex> {
    data.iter().map(|expression| LazyRegex::new(expression)).collect()
}

/// Returns the word lists.
pub(crate) fn words() -> &'static ValueWords {
    &VALUE_WORDS
}

/// Returns true if a value stands for a secret, such as `${TOKEN}` or `xxxx`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.iter().filter_map(LazyRegex::get).any(|placeholder| placeholder.is_match(value))
}

/// Returns true if a value is the name of a version, a standard, a file or an address, such as `sha256`.
pub(crate) fn is_version_name(value: &str) -> bool {
    VERSION_NAMES.iter().filter_map(LazyRegex::get).any(|name| name.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for placeholder in PLACEHOLDERS.iter().chain(VERSION_NAMES.iter()) {
            assert!(placeholder.get().is_some(), "{}", placeholder.as_str());
        }
    }

    #[test]
    fn placeholders_are_no_secrets() {
        for value in ["${TOKEN}", "$token", "xxxx", "<password>", "your-key", "null", "os.environ['X']", "{name}"] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["tiger4711", "x7xx", "nullify8", "$t4r!fish", "yourself7"] {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
