//! The plain loops, written so that the compiler vectorises them.

use super::{
    quantization::Quantization,
    rows::{LANES, RowSelection},
};

/// The largest code.
const MAX_CODE: f32 = 127.0;

/// Number of differences that are compared with the threshold at once.
const BLOCK_DIFFERENCES: usize = 16;
/// How many numbers a loop processes at once, each with a partial sum of its own.
const PARTIAL_SUMS: usize = 16;

/// Returns the inner product of two vectors of equal length.
///
/// The order of the additions does not depend on the width of the registers, so the result is the same to the last bit
/// on every machine.
#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; PARTIAL_SUMS];
    let (a_chunks, b_chunks) = (a.chunks_exact(PARTIAL_SUMS), b.chunks_exact(PARTIAL_SUMS));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[inline(always)]
pub(super) fn products(query: &[f32], values: &[f32], rows: RowSelection<'_>, out: &mut Vec<f32>) {
    let width = query.len();
    out.extend((0..rows.len()).map(|index| {
        let row = rows.row(index);
        product(query, &values[row * width..(row + 1) * width])
    }));
}

/// Returns the inner product of numbers and codes.
pub(super) fn mixed_product(query: &[f32], codes: &[i8]) -> f32 {
    let mut sums = [0.0_f32; PARTIAL_SUMS];
    let (a_chunks, b_chunks) = (query.chunks_exact(PARTIAL_SUMS), codes.chunks_exact(PARTIAL_SUMS));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * f32::from(*y)).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * f32::from(*y);
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[inline(always)]
pub(super) fn code_product(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

#[inline(always)]
pub(super) fn code_products(query: &[i8], codes: &[i8], rows: RowSelection<'_>, out: &mut Vec<i32>) {
    let width = query.len();
    out.extend((0..rows.len()).map(|index| {
        let row = rows.row(index);
        code_product(query, &codes[row * width..(row + 1) * width])
    }));
}

#[inline(always)]
pub(super) fn encode(values: &[f32], codes: &mut Vec<i8>) -> Quantization {
    let (chunks, rest) = values.as_chunks::<PARTIAL_SUMS>();
    // The rest, padded with zeros: they change neither the greatest number nor a sum.
    let mut padded_rest = [0.0_f32; PARTIAL_SUMS];
    padded_rest[..rest.len()].copy_from_slice(rest);
    let mut greatest_values = [0.0_f32; PARTIAL_SUMS];
    for chunk in chunks.iter().chain([&padded_rest]) {
        for (greatest, value) in greatest_values.iter_mut().zip(chunk) {
            *greatest = greatest.max(value.abs());
        }
    }
    let scale = (greatest_values.into_iter().fold(0.0, f32::max) / MAX_CODE).max(f32::MIN_POSITIVE);
    let mut squared_codes = [0_u64; PARTIAL_SUMS];
    let mut squared_errors = [0.0_f64; PARTIAL_SUMS];
    let mut encode_chunk = |chunk: &[f32; PARTIAL_SUMS]| {
        let mut chunk_codes = [0_i8; PARTIAL_SUMS];
        let sums = squared_codes.iter_mut().zip(&mut squared_errors);
        for ((value, code), (code_sum, error_sum)) in chunk.iter().zip(&mut chunk_codes).zip(sums) {
            let steps = (value / scale).clamp(-MAX_CODE, MAX_CODE);
            // Rounds: the cast truncates. `round` would be a function call on a processor without SSE 4.1.
            let rounded = (steps + 0.5_f32.copysign(steps)) as i32;
            *code = rounded as i8;
            *code_sum += u64::from((rounded * rounded).cast_unsigned());
            *error_sum += (f64::from(*value) - f64::from(rounded) * f64::from(scale)).powi(2);
        }
        chunk_codes
    };
    codes.reserve(values.len());
    for chunk in chunks {
        codes.extend_from_slice(&encode_chunk(chunk));
    }
    codes.extend_from_slice(&encode_chunk(&padded_rest)[..rest.len()]);
    Quantization {
        scale,
        squared_length: squared_codes.iter().sum::<u64>() as f64 * f64::from(scale).powi(2),
        squared_error: squared_errors.iter().sum(),
    }
}

#[inline(always)]
pub(super) fn greater_bits(thresholds: &[f32], codes: &[i8], scales: &[f32], out: &mut Vec<u64>) {
    for (codes, scale) in codes.chunks_exact(thresholds.len().max(1)).zip(scales) {
        for (codes, thresholds) in codes.chunks(64).zip(thresholds.chunks(64)) {
            // One byte for each comparison first, which the compiler vectorises. Then a multiplication packs eight
            // bytes of 0 or 1 into eight bits.
            let mut is_greater = [0_u8; 64];
            for ((is_greater, code), threshold) in is_greater.iter_mut().zip(codes).zip(thresholds) {
                *is_greater = u8::from(f32::from(*code) * scale > *threshold);
            }
            let pack_byte = |(index, bytes): (usize, &[u8; 8])| {
                (u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index)
            };
            out.push(is_greater.as_chunks().0.iter().enumerate().map(pack_byte).fold(0, |word, bits| word | bits));
        }
    }
}

#[inline(always)]
pub(super) fn differences(query: &[u64], heavy: &[u64], signs: &[u64], rows: usize, out: &mut Vec<u16>) {
    let words = query.len();
    out.clear();
    for block in signs.chunks_exact((words * LANES).max(1)).take(rows.div_ceil(LANES)) {
        let mut sums = [0_u64; LANES];
        // Arrays of a known length, so that the compiler vectorises over the lanes and not over the words.
        for ((words, query), heavy) in block.as_chunks::<LANES>().0.iter().zip(query).zip(heavy) {
            for (sum, word) in sums.iter_mut().zip(words) {
                let differing = word ^ query;
                *sum += u64::from(differing.count_ones()) + 2 * u64::from((differing & heavy).count_ones());
            }
        }
        out.extend(sums.map(|sum| sum.min(u64::from(u16::MAX)) as u16));
    }
    out.truncate(rows);
}

#[inline(always)]
pub(super) fn indexes_within(differences: &[u16], threshold: u16, out: &mut Vec<u32>) {
    for (block, first) in differences.chunks(BLOCK_DIFFERENCES).zip((0..).step_by(BLOCK_DIFFERENCES)) {
        // Most blocks have no small difference. The compiler vectorises the minimum of a block.
        if block.iter().fold(u16::MAX, |least, difference| least.min(*difference)) <= threshold {
            let within = (first..).zip(block).filter(|(_, difference)| **difference <= threshold);
            out.extend(within.map(|(index, _)| index));
        }
    }
}
