//! The product of 16-bit fixed-point matrices with AVX2 and with AVX-512 VNNI.

// Loops over arrays of registers use an index on purpose: the lengths are constants, and one index serves several
// arrays.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::*;

use super::fixed_panels::{FIXED_COLUMNS, FIXED_ROWS, FixedPanels};

/// The product with `vpdpwssd`: 32 multiplications an instruction.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VNNI. `x`, `w.values` and `out` must have the lengths that
/// [`super::fixed_point::multiply_fixed`] checks.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn multiply_vnni(x: &[i16], w: &FixedPanels, scale: f32, out: &mut [f32]) {
    let (pairs, columns) = (w.pairs, w.columns());
    let x = x.as_ptr().cast::<i32>();
    for panel in 0..w.panels {
        let mut sums = [_mm512_setzero_si512(); FIXED_ROWS];
        // SAFETY: the caller checked the lengths.
        unsafe {
            let lines = w.values.as_ptr().add(panel * pairs * 2 * FIXED_COLUMNS);
            for pair in 0..pairs {
                let line = _mm512_loadu_si512(lines.add(pair * 2 * FIXED_COLUMNS).cast());
                for r in 0..FIXED_ROWS {
                    let x = _mm512_set1_epi32(x.add(r * pairs + pair).read_unaligned());
                    sums[r] = _mm512_dpwssd_epi32(sums[r], line, x);
                }
            }
            for r in 0..FIXED_ROWS {
                let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r]), _mm512_set1_ps(scale));
                _mm512_storeu_ps(out.as_mut_ptr().add(r * columns + panel * FIXED_COLUMNS), scaled);
            }
        }
    }
}

/// The product with `vpmaddwd`: 16 multiplications an instruction.
///
/// # Safety
/// The machine must have AVX2. `x`, `w.values` and `out` must have the lengths that
/// [`super::fixed_point::multiply_fixed`] checks.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn multiply_avx2(x: &[i16], w: &FixedPanels, scale: f32, out: &mut [f32]) {
    /// Rows whose sums fit into the registers together.
    const GROUP: usize = 4;
    const _: () = assert!(FIXED_ROWS.is_multiple_of(GROUP));
    let (pairs, columns) = (w.pairs, w.columns());
    let x = x.as_ptr().cast::<i32>();
    for panel in 0..w.panels {
        for row in (0..FIXED_ROWS).step_by(GROUP) {
            let mut low = [_mm256_setzero_si256(); GROUP];
            let mut high = [_mm256_setzero_si256(); GROUP];
            // SAFETY: the caller checked the lengths, and `FIXED_ROWS` is a multiple of `GROUP`.
            unsafe {
                let lines = w.values.as_ptr().add(panel * pairs * 2 * FIXED_COLUMNS);
                for pair in 0..pairs {
                    let line = lines.add(pair * 2 * FIXED_COLUMNS);
                    let w_low = _mm256_loadu_si256(line.cast());
                    let w_high = _mm256_loadu_si256(line.add(FIXED_COLUMNS).cast());
                    for r in 0..GROUP {
                        let x = _mm256_set1_epi32(x.add((row + r) * pairs + pair).read_unaligned());
                        low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(w_low, x));
                        high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(w_high, x));
                    }
                }
                for r in 0..GROUP {
                    let scale = _mm256_set1_ps(scale);
                    let out = out.as_mut_ptr().add((row + r) * columns + panel * FIXED_COLUMNS);
                    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(low[r]), scale));
                    _mm256_storeu_ps(out.add(8), _mm256_mul_ps(_mm256_cvtepi32_ps(high[r]), scale));
                }
            }
        }
    }
}
