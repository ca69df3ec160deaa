//! The beginnings of dates: a rule that reads dates declares them, so that it is tried only where one of them is.

use memory_engine_rule_data::Words;

use crate::characters::is_letter;

/// The beginning of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The first character.
    Character(char),
    /// The first word, with all its letters.
    Word(&'static str),
}

/// Returns the first character of each word as a beginning.
pub(crate) fn first_characters(words: impl IntoIterator<Item = &'static str>) -> Vec<Beginning> {
    words.into_iter().filter_map(|word| word.chars().next()).map(Beginning::Character).collect()
}

/// Returns the first word of each phrase as a beginning. A phrase without letters at its start has none.
pub(crate) fn first_words(phrases: impl IntoIterator<Item = &'static str>) -> Vec<Beginning> {
    let first_word = |phrase: &'static str| phrase.split(|c| !is_letter(c)).next();
    phrases.into_iter().filter_map(first_word).filter(|word| !word.is_empty()).map(Beginning::Word).collect()
}

/// Returns the first character of each word of a list as a beginning.
pub(crate) fn first_characters_of(words: &'static Words) -> Vec<Beginning> {
    first_characters(words.iter())
}
