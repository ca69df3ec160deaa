//! Runs of Chinese characters.

use memory_engine_text::Words;

use crate::ordinary_words::is_ordinary_word;

/// A run of Chinese characters, as spelled and simplified.
#[derive(Clone, Copy)]
pub(super) struct HanRun<'t> {
    pub(super) text: &'t [char],
    pub(super) folded: &'t [char],
}

impl HanRun<'_> {
    /// Returns a part of the run as it is spelled.
    pub(super) fn spelled(&self, from: usize, to: usize) -> String {
        self.text[from..to].iter().collect()
    }

    /// Returns true if the run has a word at a position.
    pub(super) fn has_word(&self, at: usize, word: &str) -> bool {
        self.folded.get(at..).is_some_and(|rest| rest.iter().copied().take(word.chars().count()).eq(word.chars()))
    }

    /// Returns the length of the longest word of a list that starts at a position.
    pub(super) fn word_at(&self, at: usize, words: &Words) -> Option<usize> {
        words.iter().filter(|word| self.has_word(at, word)).map(|word| word.chars().count()).max()
    }

    /// Returns true if a word of a list ends at a position.
    pub(super) fn word_before(&self, at: usize, words: &Words) -> bool {
        let ends_here = |word: &str| at.checked_sub(word.chars().count()).is_some_and(|from| self.has_word(from, word));
        words.iter().any(ends_here)
    }

    /// Returns true if a position is inside an ordinary word.
    pub(super) fn splits_word(&self, at: usize) -> bool {
        at > 0 && at < self.folded.len() && is_ordinary_word(self.folded[at - 1], self.folded[at])
    }

    /// Returns true if the part contains an ordinary word of two characters.
    pub(super) fn has_ordinary_word(&self, from: usize, to: usize) -> bool {
        self.folded[from..to].windows(2).any(|pair| is_ordinary_word(pair[0], pair[1]))
    }
}
