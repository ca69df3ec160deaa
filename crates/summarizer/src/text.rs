//! Helpers for text of both languages.

use std::collections::BTreeSet;

use memory_engine_core::text::is_han;

/// Returns a text on one line, with one space for each run of white space.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\0', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if a text contains a Chinese character.
pub(crate) fn has_han(text: &str) -> bool {
    text.chars().any(is_han)
}

/// Returns true if a text begins with an upper-case letter.
pub(crate) fn is_capitalised(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_uppercase)
}

/// Returns the words and the Chinese character bigrams of a folded text.
pub(crate) fn features(folded: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    for c in folded.chars().chain([' ']) {
        if let Some(previous) = previous.filter(|_| is_han(c)) {
            found.insert([previous, c].iter().collect());
        }
        previous = is_han(c).then_some(c);
        if c.is_alphanumeric() && !is_han(c) {
            word.push(c);
        } else if !word.is_empty() && c != '\'' && c != '’' {
            found.insert(std::mem::take(&mut word));
        }
    }
    found
}
