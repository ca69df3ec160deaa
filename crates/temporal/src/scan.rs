//! Reads a text character by character.

use std::ops::Range;

use memory_engine_text::Words;

use crate::characters::{fold, is_latin, is_letter, is_numeral};

/// The characters of a text. Each one is folded separately, so that its index stays the same.
#[derive(Debug)]
pub(crate) struct Scan {
    folded: Vec<char>,
    original: Vec<char>,
    /// The byte index of each character of the original text, and the length of the text.
    starts: Vec<usize>,
    folded_text: String,
    /// The byte index of each character of the folded text, and the length of that text.
    folded_starts: Vec<usize>,
}

impl Scan {
    pub(crate) fn new(text: &str) -> Self {
        // Each vector is allocated once.
        let capacity = text.chars().count() + 1;
        let mut folded = Vec::with_capacity(capacity);
        let mut original = Vec::with_capacity(capacity);
        let mut starts = Vec::with_capacity(capacity);
        let mut folded_text = String::with_capacity(text.len());
        let mut folded_starts = Vec::with_capacity(capacity);
        for (start, character) in text.char_indices() {
            let folded_character = fold(character);
            original.push(character);
            folded.push(folded_character);
            starts.push(start);
            folded_starts.push(folded_text.len());
            folded_text.push(folded_character);
        }
        starts.push(text.len());
        folded_starts.push(folded_text.len());
        Self { folded, original, starts, folded_text, folded_starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.folded.len()
    }

    /// Returns the folded character at an index.
    pub(crate) fn at(&self, index: usize) -> Option<char> {
        self.folded.get(index).copied()
    }

    /// Returns the folded character before an index.
    pub(crate) fn before(&self, index: usize) -> Option<char> {
        index.checked_sub(1).and_then(|index| self.at(index))
    }

    /// Returns true if the character at an index is upper case in the original text.
    pub(crate) fn is_upper(&self, index: usize) -> bool {
        self.original.get(index).is_some_and(|c| c.is_uppercase())
    }

    /// Returns the byte range from one character to before another.
    pub(crate) fn bytes(&self, begin: usize, end: usize) -> Range<usize> {
        self.starts[begin]..self.starts[end]
    }

    /// Returns the folded text from one character to before another.
    pub(crate) fn text(&self, begin: usize, end: usize) -> &str {
        &self.folded_text[self.folded_starts[begin]..self.folded_starts[end]]
    }

    /// Reads the letters from an index on: the word and the index after it.
    pub(crate) fn letters(&self, at: usize) -> Option<(&str, usize)> {
        let mut end = at;
        while self.at(end).is_some_and(is_letter) {
            end += 1;
        }
        (end > at).then(|| (self.text(at, end), end))
    }

    /// Returns the index after `word` if the text at `index` starts with it.
    pub(crate) fn word(&self, index: usize, word: &str) -> Option<usize> {
        let rest = &self.folded_text[*self.folded_starts.get(index)?..];
        rest.starts_with(word).then(|| index + word.chars().count())
    }

    /// Returns the index after the first of the words that the text at `index` starts with, and the word's index in the
    /// list.
    pub(crate) fn one_of(&self, index: usize, words: &Words) -> Option<(usize, usize)> {
        words.iter().enumerate().find_map(|(n, word)| Some((self.word(index, word)?, n)))
    }

    /// Returns true if one of the characters is at an index.
    pub(crate) fn has_any(&self, index: usize, characters: &str) -> bool {
        self.at(index).is_some_and(|c| characters.contains(c))
    }

    /// Returns true if one of the characters is before an index.
    pub(crate) fn has_any_before(&self, index: usize, characters: &str) -> bool {
        self.before(index).is_some_and(|c| characters.contains(c))
    }

    /// Returns true if a word or a number begins at an index.
    pub(crate) fn begins_word(&self, index: usize) -> bool {
        if !self.at(index).is_some_and(is_latin) {
            return false;
        }
        match self.before(index) {
            None => true,
            Some('.' | '-' | '/') => {
                // A full stop or a dash after white space does not belong to a word; in "v1.2" and "x/y" it does.
                index.checked_sub(2).and_then(|p| self.at(p)).is_none_or(|c| !is_latin(c)) && !self.is_digit(index)
            }
            Some(c) => !is_latin(c) && !matches!(c, '_' | '\'' | '’' | '@' | '#' | '$'),
        }
    }

    /// Returns true if an index is inside a number, as in "2,023" and "三十" after the first character.
    pub(crate) fn is_inside_number(&self, index: usize) -> bool {
        self.before(index).is_some_and(|c| {
            is_numeral(c) || (matches!(c, '.' | '-' | '/' | ',') && index > 1 && self.is_digit(index - 2))
        })
    }

    fn is_digit(&self, index: usize) -> bool {
        self.at(index).is_some_and(|c| c.is_ascii_digit())
    }

    /// Returns the next index where a date may begin: not inside a number.
    pub(crate) fn next(&self, index: usize) -> usize {
        let mut next = index + 1;
        while self.is_digit(index) && self.is_digit(next) {
            next += 1;
        }
        next
    }
}
