//! The integer matrix product as plain loops. It is the reference for the other kernels.

use super::{
    packed::{PANEL, PANEL_BLOCK, PackedWeights, QuantisedRows},
    rows::BLOCK,
};

/// `out[row][o] = bias[o] + Σ_blocks scale_x · scale_w · Σ x·w`, for every row and output.
pub(super) fn multiply(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    for (row, out) in out.chunks_exact_mut(w.outer).take(x.rows).enumerate() {
        for (o, out) in out.iter_mut().enumerate() {
            let mut total = 0.0;
            for block in 0..w.blocks {
                let panel_block = (o / PANEL) * w.blocks + block;
                let lines = &w.bytes[panel_block * PANEL_BLOCK..][..PANEL_BLOCK];
                let mut sum = x.starts[x.scale_index(row, block)];
                for quad in 0..BLOCK / 4 {
                    let four = &x.bytes[x.quad_index(row, block, quad)..][..4];
                    let weights = &lines[quad * 4 * PANEL + (o % PANEL) * 4..][..4];
                    for (&x, &w) in four.iter().zip(weights) {
                        sum += i32::from(x) * i32::from(w);
                    }
                }
                let scale = x.scales[x.scale_index(row, block)] * w.scales[panel_block * PANEL + o % PANEL];
                total += sum as f32 * scale;
            }
            *out = total + bias[o];
        }
    }
}
