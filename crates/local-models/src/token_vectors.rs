//! The vectors of the tokens of a text, as the encoder returns them.
//!
//! Reasons: `docs/design/decisions/0054-token-vectors.md`.

use memory_engine_core::{CodeBits, MultiVector, Result};
use ndarray::{Array2, ArrayView2, s};

use crate::projection::TokenProjection;

/// Maximum number of tokens of a part of a text, which is compared with a query by itself: some 480 characters of
/// English, some 200 of Chinese.
const MAX_PART_TOKENS: usize = 128;
/// Maximum number of tokens of a text that are kept, from its start: those of one window.
const MAX_TOKENS: usize = 512;

/// The vectors of the tokens of a text, without special tokens and prefix. A text may have none.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// A row for each token.
    values: Array2<f32>,
    ids: Vec<u32>,
    weights: Vec<f32>,
}

impl TokenVectors {
    /// `values` has a row for each id and each weight.
    pub(crate) fn new(values: Array2<f32>, ids: Vec<u32>, weights: Vec<f32>) -> Self {
        debug_assert_eq!((values.nrows(), ids.len()), (ids.len(), weights.len()));
        Self { values, ids, weights }
    }

    /// Length of a vector.
    pub fn dimensions(&self) -> usize {
        self.values.ncols()
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// All vectors, in contiguous rows.
    pub fn values(&self) -> ArrayView2<'_, f32> {
        self.values.view()
    }

    /// The number of each token in the vocabulary.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the weight of each token in 0..=1: a / (a + p), a = 10⁻⁴, where p is the token's probability (Arora,
    /// Liang and Ma 2017). 1 if the tokenizer has no probabilities.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns the vectors as they are stored and compared: projected, scaled to length 1 and quantised. Only the first
    /// 512 tokens count.
    pub(crate) fn quantize(&self, projection: &TokenProjection, bits: CodeBits) -> Result<MultiVector> {
        let count = self.len().min(MAX_TOKENS);
        let (values, _) = projection.project(self.values.slice(s![..count, ..])).into_raw_vec_and_offset();
        let tokens: Vec<(u32, f32)> = self.ids.iter().copied().zip(self.weights.iter().copied()).take(count).collect();
        MultiVector::quantize(bits, projection.dimensions(), &values, &tokens, MAX_PART_TOKENS)
    }
}
