//! The pieces into which a run of Chinese characters is cut.

/// The characters of a run from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HanToken {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_stop_word: bool,
    /// False for the characters between two stop words when there is no dictionary to cut them with.
    pub(super) is_dictionary_word: bool,
}
