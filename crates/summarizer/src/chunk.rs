//! Long texts in parts that an embedder can take.

use std::ops::Range;

use memory_engine_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::sentence::sentences;

/// The version of the way in which texts are cut: vectors of chunks belong to it.
pub const CHUNKER: &str = "sentences-1";

/// Cuts a text at the ends of its sentences into parts of a certain size.
///
/// A part is a range of the text's bytes, so that what is cited is exactly what was said.
///
/// ```
/// use memory_engine_summarizer::Chunker;
///
/// let text = "我对海鲜过敏。下周三面试。Wish me luck!";
/// let chunks = Chunker::default().with_max_chars(14).with_overlap(0).chunks(text)?;
/// let parts: Vec<&str> = chunks.into_iter().map(|range| &text[range]).collect();
/// assert_eq!(parts, ["我对海鲜过敏。下周三面试。", "Wish me luck!"]);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Chunker {
    /// Maximum number of characters of a chunk.
    pub max_chars: usize,
    /// Number of sentences of a chunk that the next one repeats, as far as they fit.
    pub overlap: usize,
    /// Maximum number of chunks. The rest of the text is in none.
    pub max_chunks: usize,
}

impl Default for Chunker {
    fn default() -> Self {
        Self { max_chars: 600, overlap: 1, max_chunks: 32 }
    }
}

impl Chunker {
    /// Another size.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }

    /// Another overlap.
    #[must_use]
    pub fn with_overlap(mut self, sentences: usize) -> Self {
        self.overlap = sentences;
        self
    }

    /// Another most.
    #[must_use]
    pub fn with_max_chunks(mut self, max_chunks: usize) -> Self {
        self.max_chunks = max_chunks;
        self
    }

    /// The parts of a text, in order; a blank one has none. No part is longer than `max_chars`: a sentence that is goes
    /// into several, cut at the end of a line, before a word, or between two characters where there is neither.
    ///
    /// # Errors
    /// `InvalidInput` for a size or a most of 0.
    pub fn chunks(&self, text: &str) -> Result<Vec<Range<usize>>> {
        if self.max_chars == 0 || self.max_chunks == 0 {
            return Err(Error::invalid(
                "chunk",
                "a text cannot be cut into nothing; max_chars and max_chunks are at least 1",
            ));
        }
        let units: Vec<Range<usize>> =
            sentences(text).into_iter().flat_map(|range| self.fitting(text, range)).collect();
        let fits = |range: Range<usize>| text[range].chars().nth(self.max_chars).is_none();
        let (mut parts, mut first) = (Vec::new(), 0);
        // Where the part before ended: a part has to go beyond it.
        let mut done = 0;
        while done < units.len() && parts.len() < self.max_chunks {
            let mut end = done + 1;
            while !fits(units[first].start..units[end - 1].end) {
                first += 1;
            }
            while end < units.len() && fits(units[first].start..units[end].end) {
                end += 1;
            }
            parts.push(units[first].start..units[end - 1].end);
            (done, first) = (end, end.saturating_sub(self.overlap).max(first + 1).min(end));
        }
        Ok(parts)
    }

    /// A sentence in pieces that fit.
    fn fitting(&self, text: &str, range: Range<usize>) -> Vec<Range<usize>> {
        let (mut pieces, mut start) = (Vec::new(), range.start);
        while let Some((over, _)) = text[start..range.end].char_indices().nth(self.max_chars) {
            let window = &text[start..start + over];
            let line = window.rfind('\n').map(|at| at + 1);
            let word = || window.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8());
            let cut = line.or_else(word).filter(|at| !window[..*at].trim().is_empty()).unwrap_or(over);
            push(text, start..start + cut, &mut pieces);
            start += cut;
        }
        push(text, start..range.end, &mut pieces);
        pieces
    }
}

fn push(text: &str, range: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let (begin, end) = (range.end - part.trim_start().len(), range.start + part.trim_end().len());
    if begin < end {
        pieces.push(begin..end);
    }
}

#[cfg(test)]
mod tests;
