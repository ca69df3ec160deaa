//! The list of memories without times.

use memory_engine_core::Record;

use crate::{
    block::Rendered,
    line::{neutralized, one_line, whole_sentences},
};

/// Memories as a plain list, the best first, under the heading `Relevant long-term memory:`.
///
/// Where the budget is too small the entries of the lowest rank go first, and one that is left alone is cut behind a
/// sentence. Without an entry there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryList {
    /// How many memories there are at the most.
    pub limit: usize,
    /// How many characters the whole list may have.
    pub max_chars: usize,
    /// How many characters of one memory are shown.
    pub max_chars_each: usize,
}

const HEADING: &str = "Relevant long-term memory:";

impl Default for MemoryList {
    fn default() -> Self {
        Self { limit: 5, max_chars: 1500, max_chars_each: 400 }
    }
}

impl MemoryList {
    /// Another number of memories.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Another budget.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }

    /// Lays out records given best first.
    pub fn render<'r>(&self, records: impl IntoIterator<Item = &'r Record>) -> Rendered {
        let mut text = String::new();
        let (mut included, mut left_out) = (Vec::new(), Vec::new());
        for record in records {
            let plain = neutralized(&one_line(&record.text, usize::MAX), &[], &["relevant long-term memory:"]);
            let heading = if included.is_empty() { HEADING } else { "" };
            let used = text.chars().count() + heading.len() + "\n- ".len();
            let room = self.max_chars.saturating_sub(used);
            // The first may be cut to fit; of the others none that does not fit is taken, nor any that comes after it.
            let line = match included.len() {
                0 => whole_sentences(&plain, self.max_chars_each.min(room)),
                _ => whole_sentences(&plain, self.max_chars_each),
            };
            let fits = !line.is_empty() && line.chars().count() <= room && left_out.is_empty();
            if !fits || included.len() == self.limit {
                left_out.push(record.id);
                continue;
            }
            text.extend([heading, "\n- ", &line]);
            included.push(record.id);
        }
        Rendered { text, included, left_out }
    }
}
