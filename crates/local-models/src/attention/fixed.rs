//! Attention with fixed-point numbers of 16 bits.
//!
//! Queries, keys and values have one scale for each head of a sequence. The attention weights of a token are multiples
//! of 1 / 32767 and add up to about 1. So a sum of their products with values is about 2³⁰, and fits into 32 bits.

use memory_engine_core::Kernel;

use crate::kernel::{
    fixed_panels::{FIXED_ROWS, FixedPanels},
    fixed_point::multiply_fixed,
    row_functions::{raise_maxima, softmax_fixed, to_fixed},
};

/// Largest magnitude of queries and keys (13 bits), however narrow a head is.
const MAX_QUERY_OR_KEY: f64 = 8191.0;

/// Largest magnitude of values.
const MAX_VALUE: f32 = 32_767.0;

/// The buffers for one sequence, and for one tile of a head.
#[derive(Debug, Default)]
pub(super) struct FixedAttention {
    /// The largest magnitude of each column, then the factor from floats to fixed-point numbers.
    factors: Vec<f32>,
    /// \[query | key | value\] of each token.
    tokens: Vec<i16>,
    keys: FixedPanels,
    values: FixedPanels,
    queries: Vec<i16>,
    scores: Vec<f32>,
    weights: Vec<i16>,
    outputs: Vec<f32>,
}

impl FixedAttention {
    /// Attention within one sequence. Rows of `tokens` are \[query | key | value\], each of `hidden` values; rows of
    /// `out` are the outputs of all heads.
    pub(super) fn run(&mut self, kernel: Kernel, heads: usize, hidden: usize, tokens: &[f32], out: &mut [f32]) {
        let width = hidden / heads;
        self.round(kernel, heads, hidden, tokens);
        for head in 0..heads {
            self.pack(head * width, width, hidden);
            for (tile, out) in out.chunks_mut(FIXED_ROWS * hidden).enumerate() {
                self.run_tile(kernel, tile, head * width, width, out);
            }
        }
    }

    /// Converts all tokens. The scale of each head is that of its largest value in the sequence.
    fn round(&mut self, kernel: Kernel, heads: usize, hidden: usize, tokens: &[f32]) {
        let width = hidden / heads;
        // A sum of `width` products is at most 2³¹ − 1, which is no f32.
        let max_query = (f64::from(i32::MAX) / width as f64).sqrt().floor().min(MAX_QUERY_OR_KEY) as f32;
        self.factors.clear();
        self.factors.resize(3 * hidden, 0.0);
        for row in tokens.chunks_exact(3 * hidden) {
            raise_maxima(kernel, &mut self.factors, row);
        }
        for (index, factors) in self.factors.chunks_exact_mut(width).enumerate() {
            let limit = if index < 2 * heads { max_query } else { MAX_VALUE };
            let max = factors.iter().copied().fold(0.0, f32::max);
            // A smaller maximum would overflow the factor. Such a head becomes zero.
            factors.fill(if max > 1e-30 { limit / max } else { 0.0 });
        }
        self.tokens.resize(tokens.len(), 0);
        let rows = tokens.chunks_exact(3 * hidden).zip(self.tokens.chunks_exact_mut(3 * hidden));
        for (row, fixed) in rows {
            to_fixed(kernel, row, &self.factors, fixed);
        }
    }

    /// Packs the keys and values of the head at `offset`.
    fn pack(&mut self, offset: usize, width: usize, hidden: usize) {
        let count = self.tokens.len() / (3 * hidden);
        self.keys.reset(width, count);
        self.values.reset(count, width);
        let no_value = vec![0; width];
        let mut rows = self.tokens.chunks_exact(3 * hidden);
        let (key, value) = (hidden + offset, 2 * hidden + offset);
        let mut pair = 0;
        while let Some(first) = rows.next() {
            self.keys.put_column(2 * pair, &first[key..key + width]);
            let second = rows.next();
            if let Some(second) = second {
                self.keys.put_column(2 * pair + 1, &second[key..key + width]);
            }
            let second = second.map_or(no_value.as_slice(), |second| &second[value..value + width]);
            self.values.put_row_pair(pair, &first[value..value + width], second);
            pair += 1;
        }
    }

    /// Computes the outputs of a head for at most [`FIXED_ROWS`] tokens, the rows of `out`.
    fn run_tile(&mut self, kernel: Kernel, tile: usize, offset: usize, width: usize, out: &mut [f32]) {
        let hidden = self.factors.len() / 3;
        let count = self.tokens.len() / (3 * hidden);
        let inner = self.keys.inner();
        self.queries.clear();
        for row in self.tokens.chunks_exact(3 * hidden).skip(tile * FIXED_ROWS).take(FIXED_ROWS) {
            self.queries.extend_from_slice(&row[offset..offset + width]);
            self.queries.resize(self.queries.len().next_multiple_of(inner), 0);
        }
        self.queries.resize(FIXED_ROWS * inner, 0);

        let scale_of = |factor: f32| if factor > 0.0 { 1.0 / factor } else { 0.0 };
        let query_scale = scale_of(self.factors[offset]) * scale_of(self.factors[hidden + offset]);
        // The softmax has the base 2.
        let scale = std::f32::consts::LOG2_E * query_scale / (width as f32).sqrt();
        let columns = self.keys.columns();
        self.scores.resize(FIXED_ROWS * columns, 0.0);
        multiply_fixed(kernel, &self.queries, &self.keys, scale, &mut self.scores);

        self.weights.clear();
        self.weights.resize(FIXED_ROWS * self.values.inner(), 0);
        let rows = self.scores.chunks_exact_mut(columns).zip(self.weights.chunks_exact_mut(self.values.inner()));
        for (scores, weights) in rows.take(out.len() / hidden) {
            // Padding must not get a weight.
            scores[count..].fill(f32::NEG_INFINITY);
            softmax_fixed(kernel, scores, weights);
        }
        let scale = scale_of(self.factors[2 * hidden + offset]) / f32::from(i16::MAX);
        let columns = self.values.columns();
        self.outputs.resize(FIXED_ROWS * columns, 0.0);
        multiply_fixed(kernel, &self.weights, &self.values, scale, &mut self.outputs);
        for (out, outputs) in out.chunks_exact_mut(hidden).zip(self.outputs.chunks_exact(columns)) {
            out[offset..offset + width].copy_from_slice(&outputs[..width]);
        }
    }
}
