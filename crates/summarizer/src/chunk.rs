//! Splits long texts into chunks that fit an embedder.

use std::ops::Range;

use memory_engine_core::{Error, Result};
use memory_engine_text::sentences;
use serde::{Deserialize, Serialize};

/// Splits a text into chunks of limited size at sentence ends.
///
/// A chunk is a byte range of the text, so that a citation is exactly the original text.
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
    /// Maximum number of characters of a chunk, at least 1. Default: 600.
    pub max_chars: usize,
    /// Number of sentences of a chunk that the next one repeats, as far as they fit. Default: 1.
    pub overlap: usize,
    /// Maximum number of chunks, at least 1. The rest of the text is in no chunk. Default: 32.
    pub max_chunks: usize,
}

impl Default for Chunker {
    fn default() -> Self {
        Self { max_chars: 600, overlap: 1, max_chunks: 32 }
    }
}

impl Chunker {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of characters of a chunk.
        with_max_chars(max_chars: usize);
        /// Sets the number of sentences that the next chunk repeats.
        with_overlap(sentences: usize) => overlap = sentences;
        /// Sets the maximum number of chunks.
        with_max_chunks(max_chunks: usize);
    }

    /// Returns the chunks of a text, in order. A blank text has none.
    ///
    /// A sentence longer than `max_chars` is split after a line break; without one, before a word; without white space,
    /// between two characters.
    ///
    /// # Errors
    /// `InvalidInput` if `max_chars` or `max_chunks` is 0.
    pub fn chunks(&self, text: &str) -> Result<Vec<Range<usize>>> {
        if self.max_chars == 0 || self.max_chunks == 0 {
            return Err(Error::invalid("chunk", "max_chars and max_chunks must be at least 1"));
        }
        let units: Vec<Range<usize>> =
            sentences(text).into_iter().flat_map(|range| self.split_sentence(text, range)).collect();
        let fits = |range: Range<usize>| text[range].chars().nth(self.max_chars).is_none();
        let mut chunks = Vec::new();
        // The index of the first unit of the next chunk. Units before `covered` are repeated from the previous chunk.
        let mut first = 0;
        // The number of units in the previous chunks. Each chunk adds at least one.
        let mut covered = 0;
        while covered < units.len() && chunks.len() < self.max_chunks {
            let mut end = covered + 1;
            while !fits(units[first].start..units[end - 1].end) {
                first += 1;
            }
            while end < units.len() && fits(units[first].start..units[end].end) {
                end += 1;
            }
            chunks.push(units[first].start..units[end - 1].end);
            covered = end;
            first = end.saturating_sub(self.overlap).max(first + 1).min(end);
        }
        Ok(chunks)
    }

    /// Splits a sentence into pieces of at most `max_chars` characters.
    fn split_sentence(&self, text: &str, range: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = range.start;
        while let Some((limit, _)) = text[start..range.end].char_indices().nth(self.max_chars) {
            let window = &text[start..start + limit];
            let after_line_break = window.rfind('\n').map(|at| at + 1);
            let last_space = window.char_indices().rev().find(|(_, c)| c.is_whitespace());
            let before_word = last_space.map(|(at, c)| at + c.len_utf8());
            let cut = after_line_break.or(before_word).filter(|at| !window[..*at].trim().is_empty()).unwrap_or(limit);
            push_trimmed(text, start..start + cut, &mut pieces);
            start += cut;
        }
        push_trimmed(text, start..range.end, &mut pieces);
        pieces
    }
}

/// Adds a range without the white space at its ends, unless it is blank.
fn push_trimmed(text: &str, range: Range<usize>, pieces: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let begin = range.end - part.trim_start().len();
    let end = range.start + part.trim_end().len();
    if begin < end {
        pieces.push(begin..end);
    }
}

#[cfg(test)]
mod tests;
