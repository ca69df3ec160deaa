//! Lists of words.

use serde::Deserialize;

/// Words in the order of their file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Words(Vec<String>);

impl Words {
    /// Returns the words in the order of their file.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the words as owned strings.
    pub fn to_vec(&self) -> Vec<String> {
        self.0.clone()
    }

    /// Returns the index of a word in the list.
    pub fn position(&self, word: &str) -> Option<usize> {
        self.iter().position(|listed| listed == word)
    }

    /// Returns true if a word is in the list.
    pub fn contains(&self, word: &str) -> bool {
        self.position(word).is_some()
    }

    /// Returns true if a text contains one of the words.
    pub fn any_in(&self, text: &str) -> bool {
        self.iter().any(|word| text.contains(word))
    }

    /// Returns the first word of the list that a text begins with.
    pub fn start_of(&self, text: &str) -> Option<&str> {
        self.iter().find(|word| text.starts_with(word))
    }

    /// Returns the first word of the list that a text ends with.
    pub fn end_of(&self, text: &str) -> Option<&str> {
        self.iter().find(|word| text.ends_with(word))
    }

    /// Returns true if a text begins with one of the words.
    pub fn any_starts(&self, text: &str) -> bool {
        self.start_of(text).is_some()
    }

    /// Returns true if a text ends with one of the words.
    pub fn any_ends(&self, text: &str) -> bool {
        self.end_of(text).is_some()
    }

    /// Returns the text after the first word of the list that the text begins with.
    pub fn strip_start<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.iter().find_map(|word| text.strip_prefix(word))
    }

    /// Returns the text before the first word of the list that the text ends with.
    pub fn strip_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.iter().find_map(|word| text.strip_suffix(word))
    }

    /// Returns the text before the leftmost of the words in it.
    pub fn text_before<'t>(&self, text: &'t str) -> &'t str {
        &text[..self.iter().filter_map(|word| text.find(word)).min().unwrap_or(text.len())]
    }
}
