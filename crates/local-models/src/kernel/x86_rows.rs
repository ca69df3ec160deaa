//! The row functions compiled for AVX2.

use super::rows;

/// [`rows::gelu`] for AVX2.
#[target_feature(enable = "avx2,fma")]
pub(super) fn gelu(values: &mut [f32]) {
    rows::gelu(values);
}

/// [`rows::softmax`] for AVX2.
#[target_feature(enable = "avx2,fma")]
pub(super) fn softmax(row: &mut [f32], scale: f32) {
    rows::softmax(row, scale);
}

/// [`rows::layer_norm`] for AVX2.
#[target_feature(enable = "avx2,fma")]
pub(super) fn layer_norm(row: &mut [f32], residual: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    rows::layer_norm(row, residual, weight, bias, epsilon);
}

/// [`rows::quantise_row`] for AVX2.
#[target_feature(enable = "avx2,fma")]
pub(super) fn quantise_row(values: &[f32], bytes: &mut [i8], scales: &mut [f32], starts: &mut [i32], factor: i32) {
    rows::quantise_row(values, bytes, scales, starts, factor);
}
