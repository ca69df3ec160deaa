//! Collects the vectors of the tokens of a text, from a table of words.

use memory_engine_core::{MultiVector, Token};
use xxhash_rust::xxh3::xxh3_128;

/// Maximum number of tokens of a part of a text, which is compared with a query by itself.
const MAX_PART_TOKENS: usize = 128;
/// Maximum number of tokens of a text that are compared, and of characters that are read, from its start.
const MAX_TOKENS: usize = 512;
const MAX_CHARS: usize = 8 * MAX_TOKENS;
/// Set in the ids of tokens without a row.
const OWN_TOKEN: u32 = 1 << 31;

/// The tokens of a text, with the vectors of their rows.
#[derive(Debug)]
pub(crate) struct TokenVectors {
    dimensions: usize,
    codes: Vec<i8>,
    tokens: Vec<Token>,
}

impl TokenVectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { dimensions, codes: Vec::new(), tokens: Vec::new() }
    }

    /// Returns true if further tokens would not be compared.
    pub(crate) fn is_full(&self) -> bool {
        self.tokens.len() >= MAX_TOKENS
    }

    /// Adds a token with the numbers of its row, whose length is `length`.
    pub(crate) fn push_row(&mut self, id: u32, row: &[u8], length: f32, weight: f32) {
        self.codes.extend(row.iter().map(|number| number.cast_signed()));
        self.tokens.push(Token { id, weight, scale: 1.0 / length.max(f32::EPSILON) });
    }

    /// Adds a word that is similar to no other one, such as a code or a name. The signs of its vector are bits of its
    /// hash, so that it is nearly orthogonal to all others.
    pub(crate) fn push_own(&mut self, word: &str) {
        let hash = xxh3_128(word.as_bytes());
        self.codes.extend((0..self.dimensions).map(|bit| if hash >> (bit % 128) & 1 == 0 { -1_i8 } else { 1 }));
        let scale = 1.0 / (self.dimensions as f32).sqrt();
        self.tokens.push(Token { id: hash as u32 | OWN_TOKEN, weight: 1.0, scale });
    }

    /// Returns the vectors; `None` if there is no token.
    pub(crate) fn finish(mut self) -> Option<MultiVector> {
        self.tokens.truncate(MAX_TOKENS);
        self.codes.truncate(self.tokens.len() * self.dimensions);
        let vectors = MultiVector::from_codes(self.dimensions, self.codes, self.tokens, MAX_PART_TOKENS).ok()?;
        (!vectors.is_empty()).then_some(vectors)
    }
}

/// Returns the part of a text that is compared.
pub(crate) fn compared_part(text: &str) -> &str {
    text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Splits a word where letters and digits meet, so that a code has the same groups with any separators.
pub(crate) fn groups(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let is_digit = rest.chars().next()?.is_ascii_digit();
        let (group, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len()));
        rest = after;
        Some(group)
    })
}

/// Reads the beginning of a table: its mark, the number of its rows, and that of its dimensions. Returns the number of
/// rows and the rest of the file; `None` for another format.
pub(crate) fn read_header(file: &'static [u8], magic: &[u8], dimensions: usize) -> Option<(usize, &'static [u8])> {
    let (header, rest) = file.strip_prefix(magic)?.split_at_checked(8)?;
    let (row_count, found) = header.split_at(4);
    let row_count = u32::from_le_bytes(row_count.try_into().ok()?) as usize;
    (u32::from_le_bytes(found.try_into().ok()?) as usize == dimensions).then_some((row_count, rest))
}
