//! The integer matrix product with AVX2 and with AVX-512 VNNI.
//!
//! A tile of a few rows by 16 or 32 outputs stays in registers during the loop over the inner
//! dimension. Within a block of 32 the sums are exact integers; after each block they are scaled and
//! added to float sums.

// Loops over arrays of registers use an index on purpose: the lengths are constants, and one index serves several
// arrays.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::*;

use super::{
    packed::{PANEL, PANEL_BLOCK, PackedWeights, QuantisedRows, WeightRange},
    rows::BLOCK,
};

/// Raw pointers to the operands of one product. [`ProductView::new`] checks every length.
struct ProductView {
    rows: usize,
    outer: usize,
    blocks: usize,
    x: *const i8,
    x_scales: *const f32,
    starts: *const i32,
    w: *const u8,
    w_scales: *const f32,
    bias: *const f32,
    out: *mut f32,
}

impl ProductView {
    fn new(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) -> Self {
        let (rows, outer, blocks) = (x.rows, w.outer, w.blocks);
        let panels = outer.div_ceil(PANEL);
        assert!(x.blocks == blocks && x.bytes.len() >= rows * blocks * BLOCK);
        assert!(x.scales.len() >= rows * blocks && x.starts.len() >= rows * blocks);
        assert!(w.bytes.len() >= panels * blocks * PANEL_BLOCK);
        assert!(w.scales.len() >= panels * blocks * PANEL);
        assert!(bias.len() >= outer && out.len() >= rows * outer);
        Self {
            rows,
            outer,
            blocks,
            x: x.bytes.as_ptr(),
            x_scales: x.scales.as_ptr(),
            starts: x.starts.as_ptr(),
            w: w.bytes.as_ptr(),
            w_scales: w.scales.as_ptr(),
            bias: bias.as_ptr(),
            out: out.as_mut_ptr(),
        }
    }
}

/// The product with `vpdpbusd`: 64 multiplications an instruction.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VNNI.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn multiply_vnni(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    let view = ProductView::new(x, w, bias, out);
    let panels = view.outer.div_ceil(PANEL);
    for panel in (0..panels).step_by(2) {
        for row in (0..view.rows).step_by(6) {
            // SAFETY: row and panel are in range, and so are the rows and panels of each tile:
            // at most `rows - row` rows, two panels only when there is a second.
            unsafe {
                match (view.rows - row, panel + 1 < panels) {
                    (1, true) => vnni_tile::<1, 2>(&view, row, panel),
                    (2, true) => vnni_tile::<2, 2>(&view, row, panel),
                    (3, true) => vnni_tile::<3, 2>(&view, row, panel),
                    (4, true) => vnni_tile::<4, 2>(&view, row, panel),
                    (5, true) => vnni_tile::<5, 2>(&view, row, panel),
                    (_, true) => vnni_tile::<6, 2>(&view, row, panel),
                    (1, false) => vnni_tile::<1, 1>(&view, row, panel),
                    (2, false) => vnni_tile::<2, 1>(&view, row, panel),
                    (3, false) => vnni_tile::<3, 1>(&view, row, panel),
                    (4, false) => vnni_tile::<4, 1>(&view, row, panel),
                    (5, false) => vnni_tile::<5, 1>(&view, row, panel),
                    (_, false) => vnni_tile::<6, 1>(&view, row, panel),
                }
            }
        }
    }
}

/// # Safety
/// `row + R <= view.rows`, `panel + P <=` the number of panels.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni_tile<const R: usize, const P: usize>(view: &ProductView, row: usize, panel: usize) {
    let blocks = view.blocks;
    let mut totals = [[_mm512_setzero_ps(); P]; R];
    for block in 0..blocks {
        let mut sums = [[_mm512_setzero_si512(); P]; R];
        // SAFETY: the caller keeps rows and panels in range, and `ProductView` checked the lengths.
        unsafe {
            for r in 0..R {
                let start = _mm512_set1_epi32(*view.starts.add((row + r) * blocks + block));
                sums[r] = [start; P];
            }
            for quad in 0..BLOCK / 4 {
                let mut w = [_mm512_setzero_si512(); P];
                for p in 0..P {
                    let at = ((panel + p) * blocks + block) * PANEL_BLOCK + quad * 4 * PANEL;
                    w[p] = _mm512_loadu_si512(view.w.add(at).cast());
                }
                for r in 0..R {
                    let at = ((row + r) * blocks + block) * BLOCK + quad * 4;
                    let x = _mm512_set1_epi32(view.x.add(at).cast::<i32>().read_unaligned());
                    for p in 0..P {
                        sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], w[p], x);
                    }
                }
            }
            for p in 0..P {
                let at = ((panel + p) * blocks + block) * PANEL;
                let w_scale = _mm512_loadu_ps(view.w_scales.add(at));
                for r in 0..R {
                    let x_scale = _mm512_set1_ps(*view.x_scales.add((row + r) * blocks + block));
                    let scale = _mm512_mul_ps(w_scale, x_scale);
                    let sum = _mm512_cvtepi32_ps(sums[r][p]);
                    totals[r][p] = _mm512_fmadd_ps(sum, scale, totals[r][p]);
                }
            }
        }
    }
    for p in 0..P {
        let column = (panel + p) * PANEL;
        let count = (view.outer - column).min(PANEL);
        let mask = (((1u32 << count) - 1) & 0xFFFF) as __mmask16;
        for (r, totals) in totals.iter().enumerate() {
            // SAFETY: the mask keeps loads and stores within `outer`.
            unsafe {
                let bias = _mm512_maskz_loadu_ps(mask, view.bias.add(column));
                let out = view.out.add((row + r) * view.outer + column);
                _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(totals[p], bias));
            }
        }
    }
}

/// The product with `vpmaddubsw`: 32 multiplications an instruction, summed in 16 bits over a
/// block, which cannot overflow for weights of four bits (15 · 127 · 16 = 30 480).
///
/// Eight-bit weights are taken as two nibbles each.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply_avx2(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    let view = ProductView::new(x, w, bias, out);
    let halves = view.outer.div_ceil(PANEL / 2);
    for half in 0..halves {
        match w.range {
            WeightRange::Nibble => {
                for row in (0..view.rows).step_by(6) {
                    // SAFETY: at most `rows - row` rows, and `half` is in range.
                    unsafe {
                        match view.rows - row {
                            1 => avx2_tile::<1, false>(&view, row, half),
                            2 => avx2_tile::<2, false>(&view, row, half),
                            3 => avx2_tile::<3, false>(&view, row, half),
                            4 => avx2_tile::<4, false>(&view, row, half),
                            5 => avx2_tile::<5, false>(&view, row, half),
                            _ => avx2_tile::<6, false>(&view, row, half),
                        }
                    }
                }
            }
            WeightRange::Byte => {
                for row in (0..view.rows).step_by(4) {
                    // SAFETY: as above.
                    unsafe {
                        match view.rows - row {
                            1 => avx2_tile::<1, true>(&view, row, half),
                            2 => avx2_tile::<2, true>(&view, row, half),
                            3 => avx2_tile::<3, true>(&view, row, half),
                            _ => avx2_tile::<4, true>(&view, row, half),
                        }
                    }
                }
            }
        }
    }
}

/// # Safety
/// `row + R <= view.rows`, `half <` the number of half panels.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_tile<const R: usize, const WIDE: bool>(view: &ProductView, row: usize, half: usize) {
    let blocks = view.blocks;
    let (panel, side) = (half / 2, half % 2);
    let low_nibbles = _mm256_set1_epi8(15);
    let (ones, sixteens) = (_mm256_set1_epi16(1), _mm256_set1_epi16(16));
    let mut totals = [_mm256_setzero_ps(); R];
    for block in 0..blocks {
        let mut low = [_mm256_setzero_si256(); R];
        let mut high = [_mm256_setzero_si256(); R];
        // SAFETY: the caller keeps rows and panels in range, and `ProductView` checked the lengths.
        unsafe {
            let lines = view.w.add((panel * blocks + block) * PANEL_BLOCK + side * 32);
            for quad in 0..BLOCK / 4 {
                let w = _mm256_loadu_si256(lines.add(quad * 4 * PANEL).cast());
                for r in 0..R {
                    let at = ((row + r) * blocks + block) * BLOCK + quad * 4;
                    let x = _mm256_set1_epi32(view.x.add(at).cast::<i32>().read_unaligned());
                    if WIDE {
                        let w_low = _mm256_and_si256(w, low_nibbles);
                        let w_high = _mm256_and_si256(_mm256_srli_epi16(w, 4), low_nibbles);
                        low[r] = _mm256_add_epi16(low[r], _mm256_maddubs_epi16(w_low, x));
                        high[r] = _mm256_add_epi16(high[r], _mm256_maddubs_epi16(w_high, x));
                    } else {
                        low[r] = _mm256_add_epi16(low[r], _mm256_maddubs_epi16(w, x));
                    }
                }
            }
            let at = (panel * blocks + block) * PANEL + side * 8;
            let w_scale = _mm256_loadu_ps(view.w_scales.add(at));
            for r in 0..R {
                let at = (row + r) * blocks + block;
                let start = _mm256_set1_epi32(*view.starts.add(at));
                let mut sum = _mm256_add_epi32(start, _mm256_madd_epi16(low[r], ones));
                if WIDE {
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(high[r], sixteens));
                }
                let scale = _mm256_mul_ps(w_scale, _mm256_set1_ps(*view.x_scales.add(at)));
                totals[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, totals[r]);
            }
        }
    }
    let column = half * 8;
    let count = (view.outer - column).min(8);
    for (r, total) in totals.iter().enumerate() {
        let mut lanes = [0.0f32; 8];
        // SAFETY: `lanes` holds eight floats; `count` keeps the copy within `outer`.
        unsafe {
            _mm256_storeu_ps(lanes.as_mut_ptr(), *total);
            let out = view.out.add((row + r) * view.outer + column);
            for (i, lane) in lanes.iter().enumerate().take(count) {
                *out.add(i) = lane + *view.bias.add(column + i);
            }
        }
    }
}
