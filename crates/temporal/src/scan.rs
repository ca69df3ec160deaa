//! Reads a text character by character.

use std::ops::Range;

use memory_engine_rule_data::Words;

use crate::characters::{fold, is_latin, is_numeral};

/// The characters of a text, each folded by itself so that its place stays.
#[derive(Debug)]
pub(crate) struct Scan {
    folded: Vec<char>,
    given: Vec<char>,
    /// The byte that each character of the given text begins at, and its length.
    starts: Vec<usize>,
    folded_text: String,
    /// The same for the folded text.
    folded_starts: Vec<usize>,
}

impl Scan {
    pub(crate) fn new(text: &str) -> Self {
        let given: Vec<char> = text.chars().collect();
        let folded: Vec<char> = given.iter().map(|c| fold(*c)).collect();
        let folded_text: String = folded.iter().collect();
        Self { starts: starts(text), folded_starts: starts(&folded_text), folded, given, folded_text }
    }

    pub(crate) fn len(&self) -> usize {
        self.folded.len()
    }

    /// The folded character at a place.
    pub(crate) fn at(&self, place: usize) -> Option<char> {
        self.folded.get(place).copied()
    }

    /// The folded character before a place.
    pub(crate) fn before(&self, place: usize) -> Option<char> {
        place.checked_sub(1).and_then(|place| self.at(place))
    }

    /// Returns true if the character at an index is upper case in the original text.
    pub(crate) fn is_upper(&self, place: usize) -> bool {
        self.given.get(place).is_some_and(|c| c.is_uppercase())
    }

    /// The bytes from one character to before another.
    pub(crate) fn bytes(&self, begin: usize, end: usize) -> Range<usize> {
        self.starts[begin]..self.starts[end]
    }

    /// Returns the folded text from one character to before another.
    pub(crate) fn text(&self, begin: usize, end: usize) -> &str {
        &self.folded_text[self.folded_starts[begin]..self.folded_starts[end]]
    }

    /// Returns the place after `word` if it stands at `place`.
    pub(crate) fn word(&self, place: usize, word: &str) -> Option<usize> {
        let rest = &self.folded_text[*self.folded_starts.get(place)?..];
        rest.starts_with(word).then(|| place + word.chars().count())
    }

    /// Returns the place after the first of the words that stands at `place`, and its number in the list.
    pub(crate) fn one_of(&self, place: usize, words: &Words) -> Option<(usize, usize)> {
        words.iter().enumerate().find_map(|(n, word)| Some((self.word(place, word)?, n)))
    }

    /// Returns true if one of the characters stands at a place.
    pub(crate) fn has_any(&self, place: usize, characters: &str) -> bool {
        self.at(place).is_some_and(|c| characters.contains(c))
    }

    /// Returns true if one of the characters stands before a place.
    pub(crate) fn has_any_before(&self, place: usize, characters: &str) -> bool {
        self.before(place).is_some_and(|c| characters.contains(c))
    }

    /// Returns true if a word or a number begins at an index.
    pub(crate) fn begins_word(&self, place: usize) -> bool {
        let joined = |c: char| is_latin(c) || matches!(c, '_' | '\'' | '’' | '-' | '/' | '.' | '@' | '#' | '$');
        let begins = self.at(place).is_some_and(is_latin);
        begins
            && match self.before(place) {
                None => true,
                Some('.' | '-' | '/') => {
                    // The end of a sentence or a dash is no part of a word; "v1.2" and "x/y" are one.
                    place.checked_sub(2).and_then(|p| self.at(p)).is_none_or(|c| !is_latin(c)) && !self.is_digit(place)
                }
                Some(c) => !joined(c),
            }
    }

    /// Returns true if an index is inside a number, as in "2,023" and "三十" after the first character.
    pub(crate) fn is_inside_number(&self, place: usize) -> bool {
        self.before(place).is_some_and(|c| {
            is_numeral(c) || (matches!(c, '.' | '-' | '/' | ',') && place > 1 && self.is_digit(place - 2))
        })
    }

    fn is_digit(&self, place: usize) -> bool {
        self.at(place).is_some_and(|c| c.is_ascii_digit())
    }

    /// The next place where something may begin: not inside a number.
    pub(crate) fn next(&self, place: usize) -> usize {
        let mut next = place + 1;
        while self.is_digit(place) && self.is_digit(next) {
            next += 1;
        }
        next
    }
}

fn starts(text: &str) -> Vec<usize> {
    text.char_indices().map(|(start, _)| start).chain([text.len()]).collect()
}
