//! Row-wise arithmetic in plain Rust, written so that the compiler can vectorise it.
//!
//! The functions on rows are `inline(always)`: `row_functions` compiles each of them also for AVX2 and AVX-512, which
//! makes the same source four times as fast without intrinsics.
//! Sums run over sixteen independent lanes, because the compiler may not reorder a single sum.

/// Number of values along the inner dimension that share a scale.
pub(crate) const BLOCK: usize = 32;

const LANES: usize = 16;

/// 1.5 · 2²³: adding it rounds a small float to the nearest integer, which is then in the low
/// bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// eˣ for x in about −87..88 (clamped), relative error below 2·10⁻⁷.
///
/// Cody-Waite reduction by ln 2 and the degree-5 polynomial of Cephes' `expf`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let e = p * r * r + r + 1.0;
    let power = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127) << 23;
    e * f32::from_bits(power)
}

/// 2ˣ for x in −126..=0 (clamped below), relative error below 4·10⁻⁶: an eighth of a fixed-point step.
///
/// The polynomial of degree 4 interpolates 2ʳ at the Chebyshev nodes of −0.5..0.5.
#[inline(always)]
fn exp2_of_negative(x: f32) -> f32 {
    let x = if x < -126.0 { -126.0 } else { x };
    let shifted = x + ROUNDER;
    let r = x - (shifted - ROUNDER);
    let p = 9.666_369e-3;
    let p = p * r + 5.592_197_6e-2;
    let p = p * r + 2.402_235e-1;
    let p = p * r + 6.931_211e-1;
    let p = p * r + 1.0;
    let power = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(power)
}

/// The exact (erf) GELU, in place: x·Φ(x), with an absolute error below 10⁻⁶ for |x| ≤ 6 and a relative one beyond.
///
/// erf is the rational approximation of Eigen and XLA: an odd polynomial of degree 13 by an even one of degree 8.
/// Below −4√2, where Φ is less than 10⁻⁸, the result is zero.
#[inline(always)]
pub(crate) fn gelu(values: &mut [f32]) {
    const LIMIT: f32 = 4.0;
    for value in values {
        let x = *value;
        let z = x * std::f32::consts::FRAC_1_SQRT_2;
        let below = z < -LIMIT;
        let z = if below { -LIMIT } else { z };
        let z = if z > LIMIT { LIMIT } else { z };
        let square = z * z;
        let p = -2.726_142_3e-10;
        let p = p * square + 2.770_681_5e-8;
        let p = p * square - 2.101_024e-6;
        let p = p * square - 5.692_506_5e-5;
        let p = p * square - 7.349_906_3e-4;
        let p = p * square - 2.954_6e-3;
        let p = p * square - 1.609_603_3e-2;
        let q = -1.456_607_2e-5;
        let q = q * square - 2.133_740_5e-4;
        let q = q * square - 1.682_827e-3;
        let q = q * square - 7.373_329_3e-3;
        let q = q * square - 1.426_474e-2;
        let erf = z * p / q;
        *value = if below { 0.0 } else { 0.5 * x * (1.0 + erf) };
    }
}

/// Softmax of `scale · row`, in place. An empty row stays empty.
#[inline(always)]
pub(crate) fn softmax(row: &mut [f32], scale: f32) {
    let max = max(row);
    for value in row.iter_mut() {
        *value = exp((*value - max) * scale);
    }
    let inverse_sum = 1.0 / sum(row);
    for value in row.iter_mut() {
        *value *= inverse_sum;
    }
}

/// Softmax of a row with the base 2, as fixed-point numbers in steps of 1 / 32767. `row` becomes unnormalised.
#[inline(always)]
pub(crate) fn softmax_fixed(row: &mut [f32], fixed: &mut [i16]) {
    let max = max(row);
    for value in row.iter_mut() {
        *value = exp2_of_negative(*value - max);
    }
    let factor = f32::from(i16::MAX) / sum(row);
    for (fixed, value) in fixed.iter_mut().zip(row) {
        *fixed = (*value * factor + ROUNDER).to_bits() as i16;
    }
}

/// Rounds `value · factor` for each column of a row. The products must be in −32767..=32767.
#[inline(always)]
pub(crate) fn to_fixed(row: &[f32], factors: &[f32], fixed: &mut [i16]) {
    for ((fixed, &value), &factor) in fixed.iter_mut().zip(row).zip(factors) {
        *fixed = (value * factor + ROUNDER).to_bits() as i16;
    }
}

/// Replaces each maximum by the magnitude of the row's value in that column, if that is larger.
#[inline(always)]
pub(crate) fn raise_maxima(maxima: &mut [f32], row: &[f32]) {
    for (max, &value) in maxima.iter_mut().zip(row) {
        let magnitude = value.abs();
        *max = if magnitude > *max { magnitude } else { *max };
    }
}

/// The greatest value of a row, −∞ for an empty one.
#[inline(always)]
fn max(row: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let mut chunks = row.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = if value > *lane { value } else { *lane };
    }
    lanes.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// Adds `residual` to `row`, then scales the row to mean 0 and variance 1, then applies the
/// learned weight and bias (Ba, Kiros and Hinton 2016). `residual` may be empty.
#[inline(always)]
pub(crate) fn layer_norm(row: &mut [f32], residual: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    for (value, &residual) in row.iter_mut().zip(residual) {
        *value += residual;
    }
    let count = row.len() as f32;
    let mean = sum(row) / count;
    for value in row.iter_mut() {
        *value -= mean;
    }
    let variance = dot(row, row) / count;
    let factor = 1.0 / (variance + epsilon).sqrt();
    for ((value, &w), &b) in row.iter_mut().zip(weight).zip(bias) {
        *value = *value * factor * w + b;
    }
}

/// Writes a block of values as signed bytes in −127..=127 and returns the scale of the
/// bytes and their sum.
///
/// Symmetric rounding to nearest: scale = max |x| / 127. A block of zeros has scale 0.
#[inline(always)]
pub(crate) fn quantise_block(values: &[f32; BLOCK], bytes: &mut [i8; BLOCK]) -> (f32, i32) {
    let mut lanes = [0.0f32; LANES];
    for chunk in values.as_chunks::<LANES>().0 {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            let magnitude = value.abs();
            *lane = if magnitude > *lane { magnitude } else { *lane };
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            let other = lanes[lane + width];
            lanes[lane] = if other > lanes[lane] { other } else { lanes[lane] };
        }
        width /= 2;
    }
    let max = lanes[0];
    // A smaller maximum would overflow the factor. Such a block becomes zero.
    let factor = if max > 1e-30 { 127.0 / max } else { 0.0 };
    let mut wide = [0i32; BLOCK];
    for (wide, &value) in wide.iter_mut().zip(values) {
        *wide = ((value * factor + ROUNDER).to_bits() as i32) << 24 >> 24;
    }
    for (byte, &wide) in bytes.iter_mut().zip(&wide) {
        *byte = wide as i8;
    }
    (if max > 1e-30 { max * (1.0 / 127.0) } else { 0.0 }, wide.iter().sum())
}

/// [`quantise_block`] for each block of 32 of a row; `starts` become `factor · Σ bytes`. The last
/// block may be short; its missing bytes become zero.
#[inline(always)]
pub(crate) fn quantise_row_by_loops(
    values: &[f32],
    bytes: &mut [i8],
    scales: &mut [f32],
    starts: &mut [i32],
    factor: i32,
) {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let (bytes, _) = bytes.as_chunks_mut::<BLOCK>();
    let whole = blocks.iter().zip(bytes.iter_mut()).zip(scales.iter_mut().zip(starts.iter_mut()));
    for ((values, bytes), (scale, start)) in whole {
        let (block_scale, sum) = quantise_block(values, bytes);
        *scale = block_scale;
        *start = factor * sum;
    }
    let last = blocks.len();
    if let (false, Some(bytes)) = (rest.is_empty(), bytes.get_mut(last)) {
        let mut values = [0.0; BLOCK];
        values[..rest.len()].copy_from_slice(rest);
        let (block_scale, sum) = quantise_block(&values, bytes);
        scales[last] = block_scale;
        starts[last] = factor * sum;
    }
}

/// The sum of a row.
#[inline(always)]
pub(crate) fn sum(row: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let mut chunks = row.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + chunks.remainder().iter().sum::<f32>()
}

/// The dot product of two rows of equal length.
#[inline(always)]
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (mut ls, mut rs) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    for (l, r) in (&mut ls).zip(&mut rs) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(l).zip(r) {
            *lane += a * b;
        }
    }
    let rest: f32 = ls.remainder().iter().zip(rs.remainder()).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Scales a vector to length 1; a vector without a finite, positive length becomes zero.
pub(crate) fn scale_to_unit(row: &mut [f32]) {
    let length = dot(row, row).sqrt();
    if length.is_finite() && length > 0.0 {
        row.iter_mut().for_each(|value| *value /= length);
    } else {
        row.fill(0.0);
    }
}
