//! The integer matrix product with AVX2 and with AVX-512 VNNI.
//!
//! A tile of a few rows by 8 or 16 outputs stays in registers during the loop over the inner
//! dimension. Within a block of 32 the sums are exact integers; after each block they are scaled and
//! added to float sums.

// Loops over arrays of registers use an index on purpose: the lengths are constants, and one index serves several
// arrays.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::*;

use super::{
    packed::{PANEL, PANEL_BLOCK, PackedWeights, QuantisedRows, TILE, WeightRange},
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
        let padded = rows.next_multiple_of(TILE);
        assert!(x.blocks == blocks && x.bytes.len() >= padded * blocks * BLOCK);
        assert!(x.scales.len() >= padded * blocks && x.starts.len() >= padded * blocks);
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

    /// Returns the index of a block of a row in the scales and starts of the activations, and that of its first byte.
    fn block_of_row(&self, row: usize, block: usize) -> (usize, usize) {
        let tile_block = row / TILE * self.blocks + block;
        let lane = row % TILE;
        (tile_block * TILE + lane, tile_block * BLOCK * TILE + lane * 4)
    }
}

/// The product with `vpdpbusd`: 64 multiplications an instruction.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VNNI.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn multiply_vnni(x: &QuantisedRows, w: &PackedWeights, bias: &[f32], out: &mut [f32]) {
    let view = ProductView::new(x, w, bias, out);
    for panel in 0..view.outer.div_ceil(PANEL) {
        for row in (0..view.rows).step_by(TILE) {
            // SAFETY: `panel` is in range, and so are the rows of each tile: at most `rows - row`.
            unsafe {
                match view.rows - row {
                    1 => vnni_tile::<1>(&view, row, panel),
                    2 => vnni_tile::<2>(&view, row, panel),
                    3 => vnni_tile::<3>(&view, row, panel),
                    4 => vnni_tile::<4>(&view, row, panel),
                    5 => vnni_tile::<5>(&view, row, panel),
                    6 => vnni_tile::<6>(&view, row, panel),
                    7 => vnni_tile::<7>(&view, row, panel),
                    8 => vnni_tile::<8>(&view, row, panel),
                    9 => vnni_tile::<9>(&view, row, panel),
                    10 => vnni_tile::<10>(&view, row, panel),
                    11 => vnni_tile::<11>(&view, row, panel),
                    _ => vnni_tile::<TILE>(&view, row, panel),
                }
            }
        }
    }
}

/// One panel for a tile of `R` rows. Each activation is used once for each line of weights, so that it can be an
/// operand in memory, and one line of weights serves all rows.
///
/// # Safety
/// `row` is a multiple of [`TILE`], `R <= TILE`, `row + R <= view.rows`, `panel <` the number of panels.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni_tile<const R: usize>(view: &ProductView, row: usize, panel: usize) {
    let mut totals = [_mm512_setzero_ps(); R];
    for block in 0..view.blocks {
        let (scales_at, bytes_at) = view.block_of_row(row, block);
        // SAFETY: the caller keeps rows and panels in range, and `ProductView` checked the lengths.
        unsafe {
            let (x, x_scales) = (view.x.add(bytes_at).cast::<i32>(), view.x_scales.add(scales_at));
            let starts = view.starts.add(scales_at);
            let lines = view.w.add((panel * view.blocks + block) * PANEL_BLOCK);
            let mut sums = [_mm512_setzero_si512(); R];
            for r in 0..R {
                sums[r] = _mm512_set1_epi32(*starts.add(r));
            }
            for quad in 0..BLOCK / 4 {
                let w = _mm512_loadu_si512(lines.add(quad * 4 * PANEL).cast());
                for r in 0..R {
                    let x = _mm512_set1_epi32(x.add(quad * TILE + r).read_unaligned());
                    sums[r] = _mm512_dpbusd_epi32(sums[r], w, x);
                }
            }
            let w_scale = _mm512_loadu_ps(view.w_scales.add((panel * view.blocks + block) * PANEL));
            for r in 0..R {
                let scale = _mm512_mul_ps(w_scale, _mm512_set1_ps(*x_scales.add(r)));
                totals[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r]), scale, totals[r]);
            }
        }
    }
    let column = panel * PANEL;
    let count = (view.outer - column).min(PANEL);
    let mask = (((1u32 << count) - 1) & 0xFFFF) as __mmask16;
    // SAFETY: the mask keeps loads and stores within `outer`.
    unsafe {
        let bias = _mm512_maskz_loadu_ps(mask, view.bias.add(column));
        for r in 0..R {
            let out = view.out.add((row + r) * view.outer + column);
            _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(totals[r], bias));
        }
    }
}

// `multiply_avx2` takes 6 or 4 rows at a time, which must be of one tile.
const _: () = assert!(TILE.is_multiple_of(6) && TILE.is_multiple_of(4));

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
/// `row + R <= view.rows`, all `R` rows are of one [`TILE`], `half <` the number of half panels.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_tile<const R: usize, const WIDE: bool>(view: &ProductView, row: usize, half: usize) {
    let blocks = view.blocks;
    let (panel, side) = (half / 2, half % 2);
    let low_nibbles = _mm256_set1_epi8(15);
    let (ones, sixteens) = (_mm256_set1_epi16(1), _mm256_set1_epi16(16));
    let mut totals = [_mm256_setzero_ps(); R];
    for block in 0..blocks {
        let (scales_at, bytes_at) = view.block_of_row(row, block);
        let mut low = [_mm256_setzero_si256(); R];
        let mut high = [_mm256_setzero_si256(); R];
        // SAFETY: the caller keeps rows and panels in range, and `ProductView` checked the lengths.
        unsafe {
            let lines = view.w.add((panel * blocks + block) * PANEL_BLOCK + side * 32);
            let x = view.x.add(bytes_at).cast::<i32>();
            for quad in 0..BLOCK / 4 {
                let w = _mm256_loadu_si256(lines.add(quad * 4 * PANEL).cast());
                for r in 0..R {
                    let x = _mm256_set1_epi32(x.add(quad * TILE + r).read_unaligned());
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
                let at = scales_at + r;
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
