//! Scaled dot-product self-attention (Vaswani et al. 2017), text by text and head by head.

mod fixed;

use memory_engine_core::Kernel;
use ndarray::{ArrayView2, linalg::general_mat_mul, s};

use self::fixed::FixedAttention;
use crate::{kernel::row_functions::softmax, matrix};

/// The buffers of one head.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    weights: Vec<f32>,
    fixed: FixedAttention,
}

impl Scratch {
    /// Computes attention for each sequence. Rows of `projected` are \[query | key | value\]; rows of `context` are the
    /// outputs of all heads. `integer` selects fixed-point numbers of 16 bits.
    pub(crate) fn run(
        &mut self,
        kernel: Kernel,
        integer: bool,
        sequences: &[&[u32]],
        heads: usize,
        projected: ArrayView2<'_, f32>,
        context: &mut Vec<f32>,
    ) {
        let hidden = projected.ncols() / 3;
        context.resize(projected.nrows() * hidden, 0.0);
        let mut context = context.as_mut_slice();
        let mut first = 0;
        for count in sequences.iter().map(|sequence| sequence.len()).filter(|count| *count > 0) {
            let tokens = projected.slice(s![first..first + count, ..]);
            let (out, rest) = context.split_at_mut(count * hidden);
            (context, first) = (rest, first + count);
            match tokens.to_slice() {
                Some(tokens) if integer => self.fixed.run(kernel, heads, hidden, tokens, out),
                Some(_) | None => self.run_exact(kernel, heads, tokens, out),
            }
        }
    }

    /// Attention within one sequence in floats.
    fn run_exact(&mut self, kernel: Kernel, heads: usize, tokens: ArrayView2<'_, f32>, out: &mut [f32]) {
        let (count, hidden) = (tokens.nrows(), tokens.ncols() / 3);
        let head_width = hidden / heads;
        let scale = 1.0 / (head_width as f32).sqrt();
        let mut out = matrix::rows_mut(out, hidden);
        self.weights.resize(count * count, 0.0);
        for offset in (0..heads).map(|head| head * head_width) {
            let query = tokens.slice(s![.., offset..offset + head_width]);
            let key = tokens.slice(s![.., hidden + offset..hidden + offset + head_width]);
            let value = tokens.slice(s![.., 2 * hidden + offset..2 * hidden + offset + head_width]);
            general_mat_mul(1.0, &query, &key.t(), 0.0, &mut matrix::rows_mut(&mut self.weights, count));
            for row in self.weights.chunks_exact_mut(count) {
                softmax(kernel, row, scale);
            }
            let weights = matrix::rows(&self.weights, count);
            general_mat_mul(1.0, &weights, &value, 0.0, &mut out.slice_mut(s![.., offset..offset + head_width]));
        }
    }
}

#[cfg(test)]
mod tests;
