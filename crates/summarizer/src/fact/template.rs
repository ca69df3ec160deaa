//! Expands the macros in the regular expressions of rule files.

use std::{cmp::Reverse, collections::BTreeMap};

use memory_engine_core::{Language, text::is_han};
use serde::Deserialize;

use crate::data::join_lines;

/// The macros of a rule file, by name.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Macros(BTreeMap<String, Macro>);

/// A part of a regular expression, or a list of alternative words.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Macro {
    Part(String),
    Words(Vec<String>),
}

/// Maximum depth of macros within macros.
const MACRO_DEPTH: usize = 4;

impl Macros {
    /// Adds the macros of another file, which replace macros of the same name.
    pub(super) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Returns a regular expression with its macros expanded. `[A-Z]` matches an upper-case letter of any script,
    /// although the rest of the expression ignores case.
    pub(super) fn expanded(&self, form: &str) -> String {
        let mut text = join_lines(form);
        // Longest names first, so that %zv is not read as %z and a v.
        let mut macros: Vec<(&String, String)> = self.0.iter().map(|(name, part)| (name, part.regex())).collect();
        macros.sort_by_key(|(name, _)| Reverse(name.len()));
        for _ in 0..MACRO_DEPTH {
            for (name, part) in &macros {
                text = text.replace(&format!("%{name}"), part);
            }
        }
        text.replace('’', "'")
            .replace("(?-i:[A-Z])", "[A-Z]")
            .replace("[A-Z][a-z]+", "(?-i:[\\p{Lu}]\\p{Ll}+)")
            .replace("[A-Z]", "(?-i:\\p{Lu})")
    }
}

impl Macro {
    fn regex(&self) -> String {
        match self {
            Self::Part(text) => join_lines(text),
            Self::Words(words) => format!("(?:{})", words.join("|")),
        }
    }
}

/// Returns the language that a regular expression is written for.
pub(super) fn language_of(form: &str) -> Language {
    let chinese = form.chars().any(is_han) || form.contains("%zv") || form.contains("%wo");
    if chinese { Language::Chinese } else { Language::English }
}
