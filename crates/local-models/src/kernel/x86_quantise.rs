//! The quantisation of activations with AVX-512.

use core::arch::x86_64::*;

use super::rows::{self, BLOCK};

/// [`rows::quantise_row_by_loops`] for AVX-512. The compiler turns the plain loops into code that gathers single
/// values.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw")]
pub(super) fn quantise_row(values: &[f32], bytes: &mut [i8], scales: &mut [f32], starts: &mut [i32], factor: i32) {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let whole = blocks.iter().zip(bytes.as_chunks_mut::<BLOCK>().0);
    for ((values, bytes), (scale, start)) in whole.zip(scales.iter_mut().zip(starts.iter_mut())) {
        let (block_scale, sum) = quantise_block(values, bytes);
        *scale = block_scale;
        *start = factor * sum;
    }
    let done = blocks.len();
    if !rest.is_empty() {
        rows::quantise_row_by_loops(rest, &mut bytes[done * BLOCK..], &mut scales[done..], &mut starts[done..], factor);
    }
}

/// [`rows::quantise_block`] for AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn quantise_block(values: &[f32; BLOCK], bytes: &mut [i8; BLOCK]) -> (f32, i32) {
    // SAFETY: a block has two registers of floats and two of bytes.
    unsafe {
        let low = _mm512_loadu_ps(values.as_ptr());
        let high = _mm512_loadu_ps(values.as_ptr().add(BLOCK / 2));
        let max = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
        // A smaller maximum would overflow the factor. Such a block becomes zero.
        let (factor, scale) = if max > 1e-30 { (127.0 / max, max * (1.0 / 127.0)) } else { (0.0, 0.0) };
        let factor = _mm512_set1_ps(factor);
        let low = _mm512_cvtps_epi32(_mm512_mul_ps(low, factor));
        let high = _mm512_cvtps_epi32(_mm512_mul_ps(high, factor));
        _mm_storeu_si128(bytes.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(low));
        _mm_storeu_si128(bytes.as_mut_ptr().add(BLOCK / 2).cast(), _mm512_cvtepi32_epi8(high));
        (scale, _mm512_reduce_add_epi32(_mm512_add_epi32(low, high)))
    }
}
