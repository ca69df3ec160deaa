//! The integer matrix product with the NEON instructions that every 64-bit Arm processor has.
//!
//! Weights are converted to signed when they are loaded, so sums start at zero. Two products of bytes fit
//! in 16 bits (2 · 128 · 127 = 32 512), so they are paired before they are widened.

use core::arch::aarch64::*;

use super::{
    packed::{PANEL, PANEL_BLOCK, PackedWeights, QuantisedRows, TILE},
    rows::BLOCK,
};

/// Bytes from a quad of a row to the next one of the same row.
const QUAD_STRIDE: usize = 4 * TILE;

/// The product of all rows with all panels, equal to the plain loops.
pub(super) fn multiply(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    let panels = w.outer.div_ceil(PANEL);
    for panel in 0..panels {
        for row in (0..x.rows).step_by(2) {
            if row + 1 < x.rows {
                tile::<2>(x, w, bias, out, row, panel);
            } else {
                tile::<1>(x, w, bias, out, row, panel);
            }
        }
    }
}

fn tile<const R: usize>(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32], row: usize, panel: usize) {
    let mut totals = [[0.0f32; PANEL]; R];
    for block in 0..w.blocks {
        let panel_block = panel * w.blocks + block;
        let lines = &w.bytes[panel_block * PANEL_BLOCK..][..PANEL_BLOCK];
        let scales = &w.scales[panel_block * PANEL..][..PANEL];
        for (r, totals) in totals.iter_mut().enumerate() {
            // The eight quads of a row are a tile row apart.
            let bytes = &x.bytes[x.quad_index(row + r, block, 0)..][..QUAD_STRIDE * (BLOCK / 4 - 1) + 4];
            let sums = block_sums(lines, bytes, w.range.offset() as u8);
            let x_scale = x.scales[x.scale_index(row + r, block)];
            for ((total, &sum), &scale) in totals.iter_mut().zip(&sums).zip(scales) {
                *total += sum as f32 * (scale * x_scale);
            }
        }
    }
    let column = panel * PANEL;
    let count = (w.outer - column).min(PANEL);
    for (r, totals) in totals.iter().enumerate() {
        let out = &mut out[(row + r) * w.outer + column..][..count];
        for ((out, &total), &bias) in out.iter_mut().zip(totals).zip(&bias[column..]) {
            *out = total + bias;
        }
    }
}

/// Σ x·w over one block, for the sixteen outputs of a panel.
#[inline(always)]
fn block_sums(lines: &[u8], bytes: &[i8], offset: u8) -> [i32; PANEL] {
    assert!(lines.len() == PANEL_BLOCK && bytes.len() == QUAD_STRIDE * (BLOCK / 4 - 1) + 4);
    let mut sums = [0i32; PANEL];
    // SAFETY: NEON is part of the aarch64 baseline; the lengths were checked above and every
    // address below stays within them.
    unsafe {
        let offset = vdupq_n_u8(offset);
        // Each accumulator holds two outputs as two half sums each.
        let mut halves = [vdupq_n_s32(0); PANEL / 2];
        for pair in 0..BLOCK / 8 {
            let first = quad(bytes.as_ptr().add(pair * 2 * QUAD_STRIDE));
            let second = quad(bytes.as_ptr().add((pair * 2 + 1) * QUAD_STRIDE));
            for four in 0..PANEL / 4 {
                let line = lines.as_ptr().add(pair * 8 * PANEL + four * 16);
                let w0 = vreinterpretq_s8_u8(vsubq_u8(vld1q_u8(line), offset));
                let w1 = vreinterpretq_s8_u8(vsubq_u8(vld1q_u8(line.add(4 * PANEL)), offset));
                let low = vmlal_s8(vmull_s8(vget_low_s8(w0), first), vget_low_s8(w1), second);
                let high = vmlal_s8(vmull_s8(vget_high_s8(w0), first), vget_high_s8(w1), second);
                halves[four * 2] = vpadalq_s16(halves[four * 2], low);
                halves[four * 2 + 1] = vpadalq_s16(halves[four * 2 + 1], high);
            }
        }
        for four in 0..PANEL / 4 {
            let whole = vpaddq_s32(halves[four * 2], halves[four * 2 + 1]);
            vst1q_s32(sums.as_mut_ptr().add(four * 4), whole);
        }
    }
    sums
}

/// Four neighbouring activations, twice.
///
/// # Safety
/// Four bytes must be readable at `from`.
#[inline(always)]
unsafe fn quad(from: *const i8) -> int8x8_t {
    // SAFETY: by the contract above.
    unsafe { vreinterpret_s8_s32(vdup_n_s32(from.cast::<i32>().read_unaligned())) }
}
