//! A plain list of memories without times, for chat clients that inject memories themselves.

use memory_engine_core::Record;

use crate::{
    block::RenderedBlock,
    line::{neutralized, one_line, whole_sentences},
};

/// The form of memories as a plain list, best first, under the heading `Relevant long-term memory:`.
///
/// If the budget is too small, entries of the lowest rank are left out first, and a single entry that is too long is
/// cut after a sentence. Without an entry, the text is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryList {
    /// Maximum number of memories. Default: 5.
    pub limit: usize,
    /// Maximum number of characters of the whole list. Default: 1500.
    pub max_chars: usize,
    /// Maximum number of characters of one memory. Default: 400.
    pub max_chars_each: usize,
}

const HEADING: &str = "Relevant long-term memory:";

impl Default for MemoryList {
    fn default() -> Self {
        Self { limit: 5, max_chars: 1500, max_chars_each: 400 }
    }
}

impl MemoryList {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of memories.
        with_limit(limit: usize);
        /// Sets the maximum number of characters of the whole list.
        with_max_chars(max_chars: usize);
    }

    /// Renders records, best first.
    pub fn render<'r>(&self, records: impl IntoIterator<Item = &'r Record>) -> RenderedBlock {
        let mut text = String::new();
        let mut included = Vec::new();
        let mut left_out = Vec::new();
        for record in records {
            let plain = neutralized(&one_line(&record.text, usize::MAX), &[], &["relevant long-term memory:"]);
            let heading = if included.is_empty() { HEADING } else { "" };
            let used_chars = text.chars().count() + heading.len() + "\n- ".len();
            let remaining_chars = self.max_chars.saturating_sub(used_chars);
            // Only the first memory is cut to fit. The first of the others that does not fit ends the list.
            let line = match included.len() {
                0 => whole_sentences(&plain, self.max_chars_each.min(remaining_chars)),
                _ => whole_sentences(&plain, self.max_chars_each),
            };
            let fits = !line.is_empty() && line.chars().count() <= remaining_chars && left_out.is_empty();
            if !fits || included.len() == self.limit {
                left_out.push(record.id);
                continue;
            }
            text.extend([heading, "\n- ", &line]);
            included.push(record.id);
        }
        RenderedBlock { text, included, left_out }
    }
}
