//! The kernels against plain loops, and the row functions against double precision.

use proptest::collection::vec;
use proptest::prelude::*;

use super::packed::{PackedWeights, QuantisedRows, WeightRange};
use super::row_functions::{gelu, layer_norm, quantise_row, raise_maxima, softmax, softmax_fixed, to_fixed};
use super::rows::BLOCK;
use super::*;
use super::{
    fixed_panels::{FIXED_ROWS, FixedPanels},
    fixed_point::multiply_fixed,
};
use crate::matrix;

/// Pseudo-random numbers in −1..1.
fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn nibble_weights(outer: usize, inner: usize, seed: u64) -> PackedWeights {
    let values = noise(outer * inner.div_ceil(BLOCK) * (BLOCK + 1), seed);
    let blocks = values.chunks(BLOCK + 1).map(|chunk| {
        let mut nibbles = [0; BLOCK];
        for (nibble, value) in nibbles.iter_mut().zip(chunk) {
            *nibble = ((value + 1.0) * 8.0).clamp(0.0, 15.0) as u8;
        }
        (chunk[BLOCK] * 0.1, nibbles)
    });
    PackedWeights::from_nibbles(outer, inner, blocks)
}

fn assert_close(left: &[f32], right: &[f32], tolerance: f32) {
    assert_eq!(left.len(), right.len());
    for (index, (l, r)) in left.iter().zip(right).enumerate() {
        assert!((l - r).abs() <= tolerance * (1.0 + r.abs()), "{l} is not {r} at {index}");
    }
}

fn available_kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
}

/// The quantised product by one kernel.
fn product(kernel: Kernel, x: &[f32], weights: &PackedWeights, bias: &[f32]) -> Vec<f32> {
    let mut rows = QuantisedRows::default();
    rows.fill(kernel, matrix::rows(x, weights.inner), weights);
    let mut out = vec![f32::NAN; rows.rows * weights.outer];
    multiply_quantised(kernel, &rows, weights, bias, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_kernel_equals_the_plain_loops(
        rows in 0usize..40,
        outer in 1usize..70,
        inner in 1usize..150,
        seed in any::<u64>(),
        nibbles in any::<bool>(),
    ) {
        let x = noise(rows * inner, seed);
        let bias = noise(outer, seed ^ 1);
        let weights = if nibbles {
            nibble_weights(outer, inner, seed ^ 2)
        } else {
            PackedWeights::from_rows(outer, inner, &noise(outer * inner, seed ^ 2))
        };
        let expected = product(Kernel::Plain, &x, &weights, &bias);
        for kernel in available_kernels() {
            assert_close(&product(kernel, &x, &weights, &bias), &expected, 1e-5);
        }
    }

    #[test]
    fn the_integer_product_is_close_to_the_exact_one(
        rows in 1usize..8,
        outer in 1usize..40,
        inner in 1usize..150,
        seed in any::<u64>(),
    ) {
        let x = noise(rows * inner, seed);
        let bias = noise(outer, seed ^ 1);
        let w = noise(outer * inner, seed ^ 2);
        let exact = matrix::rows(&x, inner).dot(&matrix::rows(&w, inner).t()) + ndarray::aview1(&bias);
        let weights = PackedWeights::from_rows(outer, inner, &w);
        for kernel in available_kernels() {
            let found = product(kernel, &x, &weights, &bias);
            // Each factor is off by at most 1/254 of the largest in its block.
            let tolerance = 2.5 / 254.0 * (inner as f32).sqrt() * 2.0;
            assert_close(&found, &exact.iter().copied().collect::<Vec<f32>>(), tolerance);
        }
    }

    #[test]
    fn extreme_weights_and_activations_do_not_overflow(
        rows in 1usize..8,
        signs in vec(any::<bool>(), 128),
    ) {
        let inner = signs.len();
        let w: Vec<f32> = signs.iter().map(|&sign| if sign { 127.0 } else { -127.0 }).collect();
        let x = w.repeat(rows);
        let bytes = PackedWeights::from_rows(1, inner, &w);
        let blocks = signs.chunks(BLOCK).map(|signs| {
            let mut nibbles = [0; BLOCK];
            nibbles.iter_mut().zip(signs).for_each(|(nibble, &sign)| *nibble = u8::from(sign) * 15);
            (1.0, nibbles)
        });
        let nibbles = PackedWeights::from_nibbles(1, inner, blocks);
        let positive = signs.iter().filter(|&&sign| sign).count() as f32;
        let expected = 127.0 * (7.0 * positive + 8.0 * (inner as f32 - positive));
        for kernel in available_kernels() {
            let found = product(kernel, &x, &bytes, &[0.0]);
            assert_close(&found, &vec![127.0 * 127.0 * inner as f32; rows], 1e-5);
            assert_close(&product(kernel, &x, &nibbles, &[0.0]), &vec![expected; rows], 1e-5);
        }
    }

    #[test]
    fn fixed_point_products_are_the_same_integers_on_every_kernel(
        inner in 1usize..80,
        columns in 1usize..50,
        seed in any::<u64>(),
        by_rows in any::<bool>(),
    ) {
        let fixed = |count, seed| noise(count, seed).into_iter().map(|x| (x * 4000.0) as i16).collect::<Vec<i16>>();
        let w = fixed(inner * columns, seed);
        let mut panels = FixedPanels::default();
        panels.reset(inner, columns);
        if by_rows {
            let none = vec![0; columns];
            let rows: Vec<&[i16]> = w.chunks(columns).collect();
            for (pair, rows) in rows.chunks(2).enumerate() {
                panels.put_row_pair(pair, rows[0], rows.get(1).copied().unwrap_or(&none));
            }
        } else {
            for column in 0..columns {
                let values: Vec<i16> = w.iter().skip(column).step_by(columns).copied().collect();
                panels.put_column(column, &values);
            }
        }
        let mut x = Vec::new();
        for row in fixed(FIXED_ROWS * inner, seed ^ 1).chunks(inner) {
            x.extend_from_slice(row);
            x.resize(x.len().next_multiple_of(panels.inner()), 0);
        }
        for kernel in available_kernels() {
            let mut found = vec![f32::NAN; FIXED_ROWS * panels.columns()];
            multiply_fixed(kernel, &x, &panels, 0.5, &mut found);
            for (index, found) in found.iter().enumerate() {
                let (row, column) = (index / panels.columns(), index % panels.columns());
                let product = |i: usize| i32::from(x[row * panels.inner() + i]) * i32::from(w[i * columns + column]);
                let sum: i32 = if column < columns { (0..inner).map(product).sum() } else { 0 };
                prop_assert_eq!(*found, sum as f32 * 0.5);
            }
        }
    }

    #[test]
    fn fixed_point_softmax_is_within_a_step_of_double_precision(row in vec(-200.0f32..30.0, 1..70)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|&x| f64::from(x - max).exp2()).collect();
        let sum: f64 = powers.iter().sum();
        for kernel in available_kernels() {
            let (mut scores, mut found) = (row.clone(), vec![-1; row.len()]);
            softmax_fixed(kernel, &mut scores, &mut found);
            for (&found, power) in found.iter().zip(&powers) {
                prop_assert!((f64::from(found) - power / sum * 32_767.0).abs() < 0.7, "{found}");
            }
        }
    }

    #[test]
    fn fixed_point_numbers_are_within_half_a_step(row in vec(-1e4f32..1e4, 1..70)) {
        for kernel in available_kernels() {
            let mut maxima = vec![1.0; row.len()];
            raise_maxima(kernel, &mut maxima, &row);
            let factors: Vec<f32> = maxima.iter().map(|max| 32_767.0 / max).collect();
            let mut fixed = vec![0; row.len()];
            to_fixed(kernel, &row, &factors, &mut fixed);
            for ((value, max), (fixed, factor)) in row.iter().zip(&maxima).zip(fixed.iter().zip(&factors)) {
                prop_assert_eq!(*max, value.abs().max(1.0));
                prop_assert!((f32::from(*fixed) - value * factor).abs() <= 0.501);
            }
        }
    }

    #[test]
    fn softmax_equals_double_precision(row in vec(-30.0f32..30.0, 0..70), scale in 0.01f32..1.0) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> =
            row.iter().map(|&x| (f64::from(x - max) * f64::from(scale)).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let expected: Vec<f32> = powers.iter().map(|power| (power / sum) as f32).collect();
        for kernel in available_kernels() {
            let mut found = row.clone();
            softmax(kernel, &mut found, scale);
            assert_close(&found, &expected, 1e-6);
        }
    }

    #[test]
    fn layer_norm_equals_double_precision(
        row in vec(-5.0f32..5.0, 1..70),
        seed in any::<u64>(),
        residual in any::<bool>(),
    ) {
        let more = if residual { noise(row.len(), seed) } else { Vec::new() };
        let (weight, bias) = (noise(row.len(), seed ^ 1), noise(row.len(), seed ^ 2));
        let sum = |i: usize| f64::from(row[i]) + more.get(i).map_or(0.0, |&x| f64::from(x));
        let sums: Vec<f64> = (0..row.len()).map(sum).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let variance = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        let expected: Vec<f32> = sums.iter().zip(&weight).zip(&bias)
            .map(|((x, &w), &b)| ((x - mean) / (variance + 1e-3).sqrt()) as f32 * w + b)
            .collect();
        for kernel in available_kernels() {
            let mut found = row.clone();
            layer_norm(kernel, &mut found, &more, &weight, &bias, 1e-3);
            assert_close(&found, &expected, 2e-5);
        }
    }

    #[test]
    fn quantisation_error_is_at_most_half_a_step(row in vec(-1e4f32..1e4, 1..100)) {
        for kernel in available_kernels() {
            let blocks = row.len().div_ceil(BLOCK);
            let mut bytes = vec![0; blocks * BLOCK];
            let (mut scales, mut starts) = (vec![0.0; blocks], vec![0; blocks]);
            quantise_row(kernel, &row, &mut bytes, &mut scales, &mut starts, -8);
            let found = (bytes, scales, starts);
            let (mut bytes, mut scales, mut starts) = (vec![0; blocks * BLOCK], vec![0.0; blocks], vec![0; blocks]);
            quantise_row(Kernel::Plain, &row, &mut bytes, &mut scales, &mut starts, -8);
            prop_assert_eq!(&found, &(bytes, scales, starts), "kernels differ");
            let (bytes, scales, starts) = found;
            for (index, &value) in row.iter().enumerate() {
                let step = scales[index / BLOCK];
                prop_assert!((f32::from(bytes[index]) * step - value).abs() <= step * 0.501);
                prop_assert!(bytes[index] != i8::MIN);
            }
            for (bytes, start) in bytes.chunks(BLOCK).zip(starts) {
                prop_assert_eq!(start, -8 * bytes.iter().map(|&byte| i32::from(byte)).sum::<i32>());
            }
        }
    }
}

#[test]
fn gelu_equals_numerical_integration() {
    // Φ by Simpson's rule from 0.
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let normal = |x: f64| {
        let h = x / 400.0;
        let inner = (1..400).map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 });
        0.5 + h / 3.0 * (density(0.0) + inner.sum::<f64>() + density(x))
    };
    let xs: Vec<f32> = (-600..=600).map(|i| i as f32 / 100.0).collect();
    let expected: Vec<f32> = xs.iter().map(|&x| (f64::from(x) * normal(f64::from(x))) as f32).collect();
    for kernel in available_kernels() {
        let mut found = xs.clone();
        gelu(kernel, &mut found);
        assert_close(&found, &expected, 1e-6);
    }
}

#[test]
fn zeros_and_tiny_values_quantise_to_zero() {
    for kernel in available_kernels() {
        let (mut bytes, mut scales, mut starts) = ([1; BLOCK], [1.0], [1]);
        quantise_row(kernel, &[1e-38; BLOCK], &mut bytes, &mut scales, &mut starts, 1);
        assert_eq!((bytes, scales, starts), ([0; BLOCK], [0.0], [0]));
    }
}

#[test]
fn non_finite_values_do_not_panic() {
    let weights = PackedWeights::from_rows(3, 4, &[1.0; 12]);
    for kernel in available_kernels() {
        let _ = product(kernel, &[f32::NAN, f32::INFINITY, 1.0, -1.0], &weights, &[0.0; 3]);
        softmax(kernel, &mut [f32::NAN, f32::INFINITY, f32::NEG_INFINITY], 1.0);
        gelu(kernel, &mut [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]);
    }
}

#[test]
fn a_missing_kernel_falls_back_to_plain() {
    let missing = if cfg!(target_arch = "aarch64") { Kernel::Avx2 } else { Kernel::Neon };
    assert!(!missing.is_available());
    let weights = PackedWeights::from_rows(1, 2, &[1.0, 1.0]);
    let found = product(missing, &[1.0, 1.0], &weights, &[0.5]);
    assert_close(&found, &[2.5], 1e-6);
    assert_eq!(WeightRange::Byte.offset(), 128);
}
