//! Scaled dot-product self-attention (Vaswani et al. 2017), text by text and head by head.

use crate::kernel::{Kernel, Matrix, MatrixMut, multiply_exact, softmax};

/// The attention weights of one head.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    weights: Vec<f32>,
}

impl Scratch {
    /// Reads rows of \[query | key | value\] and writes rows of the heads' outputs.
    pub(crate) fn run(
        &mut self,
        kernel: Kernel,
        sequences: &[&[u32]],
        heads: usize,
        attended: &[f32],
        context: &mut Vec<f32>,
    ) {
        let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
        let stride = attended.len().checked_div(tokens).unwrap_or(0);
        let hidden = stride / 3;
        let width = hidden / heads;
        context.resize(tokens * hidden, 0.0);
        let scale = 1.0 / (width as f32).sqrt();
        let mut first = 0;
        for count in sequences.iter().map(|sequence| sequence.len()) {
            let rows = &attended[first * stride..(first + count) * stride];
            let out = &mut context[first * hidden..(first + count) * hidden];
            first += count;
            self.weights.resize(count * count, 0.0);
            for at in (0..heads).map(|head| head * width).filter(|_| count > 0) {
                let query = Matrix::new(&rows[at..], count, width, stride);
                let key = Matrix::new(&rows[hidden + at..], count, width, stride);
                let value = Matrix::new(&rows[2 * hidden + at..], count, width, stride);
                let weights = MatrixMut::new(&mut self.weights, count);
                multiply_exact(query, key.transposed(), 0.0, weights);
                for row in self.weights.chunks_exact_mut(count) {
                    softmax(kernel, row, scale);
                }
                let weights = Matrix::new(&self.weights, count, count, count);
                multiply_exact(weights, value, 0.0, MatrixMut::new(&mut out[at..], hidden));
            }
        }
    }
}
