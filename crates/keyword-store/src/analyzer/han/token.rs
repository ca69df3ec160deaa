//! A piece of a run of Chinese characters.

/// A piece of a run: characters from `start` up to, but without, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_stop_word: bool,
    /// False for the characters between two stop words when there is no dictionary to cut them with.
    pub(super) is_dictionary_word: bool,
}
