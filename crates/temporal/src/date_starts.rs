//! The starts of dates. A rule declares those of its dates, so that it is tried only where one of them is.

use memory_engine_text::Words;

use crate::characters::is_letter;

/// the start of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateStart {
    /// The first character.
    Character(char),
    /// The whole first word: all letters up to the first character that is not a letter.
    Word(&'static str),
}

/// Returns the first character of each word as a start.
pub(crate) fn first_characters(words: impl IntoIterator<Item = &'static str>) -> Vec<DateStart> {
    words.into_iter().filter_map(|word| word.chars().next()).map(DateStart::Character).collect()
}

/// Returns the first word of each phrase as a start. A phrase without letters at its
/// start has none: its rule must declare the first character itself.
pub(crate) fn first_words(phrases: impl IntoIterator<Item = &'static str>) -> Vec<DateStart> {
    let first_word = |phrase: &'static str| phrase.split(|c| !is_letter(c)).next();
    phrases.into_iter().filter_map(first_word).filter(|word| !word.is_empty()).map(DateStart::Word).collect()
}

/// Returns the first character of each word of a list as a start.
pub(crate) fn first_characters_of(words: &'static Words) -> Vec<DateStart> {
    first_characters(words.iter())
}
