//! The plain loops compiled for AVX2 and AVX-512, and integer inner products by their instructions.

use std::arch::x86_64::*;

use super::{
    plain,
    quantization::Quantization,
    rows::{LANES, RowSelection},
};

/// Distance, in rows, between the row that is computed and the one that is fetched into the cache. The rows of a list
/// are too irregular for the hardware prefetcher.
const PREFETCH_ROWS: usize = 6;
const CACHE_LINE_BYTES: usize = 64;

/// Begins to fetch the codes of a later row of a list.
#[inline(always)]
fn prefetch(codes: &[i8], width: usize, rows: RowSelection<'_>, index: usize) {
    let RowSelection::List(rows) = rows else { return };
    let Some(row) = rows.get(index + PREFETCH_ROWS) else { return };
    let start = *row as usize * width;
    for line in codes[start..start + width].chunks(CACHE_LINE_BYTES) {
        // SAFETY: a prefetch returns no data and accepts every address; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr()) };
    }
}

/// Defines the functions whose plain loops the compiler vectorises well for these processor features.
macro_rules! compiled_for {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        pub(in super::super) fn products(query: &[f32], values: &[f32], rows: RowSelection<'_>, out: &mut Vec<f32>) {
            plain::products(query, values, rows, out);
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn encode(values: &[f32], codes: &mut Vec<i8>) -> Quantization {
            plain::encode(values, codes)
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn greater_bits(thresholds: &[f32], codes: &[i8], scales: &[f32], out: &mut Vec<u64>) {
            plain::greater_bits(thresholds, codes, scales, out);
        }
    };
}

pub(super) mod avx2 {
    use super::*;

    compiled_for!("avx2,popcnt");

    #[target_feature(enable = "avx2,popcnt")]
    pub(in super::super) fn differences(query: &[u64], heavy: &[u64], signs: &[u64], rows: usize, out: &mut Vec<u16>) {
        plain::differences(query, heavy, signs, rows, out);
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(in super::super) fn indexes_within(differences: &[u16], threshold: u16, out: &mut Vec<u32>) {
        plain::indexes_within(differences, threshold, out);
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(in super::super) fn code_products(query: &[i8], codes: &[i8], rows: RowSelection<'_>, out: &mut Vec<i32>) {
        let width = query.len();
        out.extend((0..rows.len()).map(|index| {
            prefetch(codes, width, rows, index);
            let row = rows.row(index);
            code_product(query, &codes[row * width..(row + 1) * width])
        }));
    }

    #[target_feature(enable = "avx2,popcnt")]
    fn code_product(a: &[i8], b: &[i8]) -> i32 {
        const STEP: usize = 16;
        let mut sums = _mm256_setzero_si256();
        let (a_chunks, b_chunks) = (a.chunks_exact(STEP), b.chunks_exact(STEP));
        let rest = plain::code_product(a_chunks.remainder(), b_chunks.remainder());
        for (x, y) in a_chunks.zip(b_chunks) {
            // SAFETY: each chunk has 16 bytes, and the load needs no alignment.
            let (x, y) = unsafe { (_mm_loadu_si128(x.as_ptr().cast()), _mm_loadu_si128(y.as_ptr().cast())) };
            let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y));
            sums = _mm256_add_epi32(sums, products);
        }
        // Adds the eight sums: eight to four, to two, to one.
        let half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        let one = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter));
        _mm_cvtsi128_si32(one) + rest
    }
}

pub(super) mod avx512 {
    use super::*;

    compiled_for!("avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni,avx512vpopcntdq");

    #[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni")]
    pub(in super::super) fn code_products(query: &[i8], codes: &[i8], rows: RowSelection<'_>, out: &mut Vec<i32>) {
        let width = query.len();
        // VNNI multiplies an unsigned byte by a signed one. Adding 128, by inverting the sign bit, makes the codes of a
        // row unsigned. This adds 128 · Σ query codes to the sum of every row, which is subtracted again.
        let chunked = width - width % 64;
        let offset = 128 * query[..chunked].iter().map(|code| i32::from(*code)).sum::<i32>();
        out.extend((0..rows.len()).map(|index| {
            prefetch(codes, width, rows, index);
            let row = rows.row(index);
            let codes = &codes[row * width..(row + 1) * width];
            shifted_product(query, codes) - offset + plain::code_product(&query[chunked..], &codes[chunked..])
        }));
    }

    #[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni,avx512vpopcntdq")]
    pub(in super::super) fn differences(query: &[u64], heavy: &[u64], signs: &[u64], rows: usize, out: &mut Vec<u16>) {
        out.clear();
        for block in signs.chunks_exact((query.len() * LANES).max(1)).take(rows.div_ceil(LANES)) {
            let mut counts = _mm512_setzero_si512();
            let mut heavy_counts = _mm512_setzero_si512();
            for ((words, query), heavy) in block.as_chunks::<LANES>().0.iter().zip(query).zip(heavy) {
                // SAFETY: eight words have 64 bytes, and the load needs no alignment.
                let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
                let differing = _mm512_xor_si512(words, _mm512_set1_epi64(query.cast_signed()));
                let heavy_differing = _mm512_and_si512(differing, _mm512_set1_epi64(heavy.cast_signed()));
                counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(differing));
                heavy_counts = _mm512_add_epi64(heavy_counts, _mm512_popcnt_epi64(heavy_differing));
            }
            let sums = _mm512_add_epi64(counts, _mm512_slli_epi64::<1>(heavy_counts));
            let mut row_differences = [0_u16; LANES];
            // SAFETY: the array has the 16 bytes that are stored, and the store needs no alignment.
            unsafe { _mm_storeu_si128(row_differences.as_mut_ptr().cast(), _mm512_cvtusepi64_epi16(sums)) };
            out.extend(row_differences);
        }
        out.truncate(rows);
    }

    #[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni")]
    pub(in super::super) fn indexes_within(differences: &[u16], threshold: u16, out: &mut Vec<u32>) {
        const BLOCK_DIFFERENCES: usize = 32;
        let (blocks, rest) = differences.as_chunks::<BLOCK_DIFFERENCES>();
        let thresholds = _mm512_set1_epi16(threshold.cast_signed());
        for (block, first) in blocks.iter().zip((0_u32..).step_by(BLOCK_DIFFERENCES)) {
            // SAFETY: a block has 64 bytes, and the load needs no alignment.
            let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            // One bit for each difference within the threshold.
            let mut remaining = _mm512_cmple_epu16_mask(block, thresholds);
            while remaining != 0 {
                out.push(first + remaining.trailing_zeros());
                remaining &= remaining - 1;
            }
        }
        let first = (differences.len() - rest.len()) as u32;
        out.extend((first..).zip(rest).filter(|(_, difference)| **difference <= threshold).map(|(index, _)| index));
    }

    /// Returns the inner product of the complete chunks of 64 codes, with 128 added to each code of `b`.
    #[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni")]
    fn shifted_product(a: &[i8], b: &[i8]) -> i32 {
        let mut sums = _mm512_setzero_si512();
        let sign_bit = _mm512_set1_epi8(i8::MIN);
        for (x, y) in a.chunks_exact(64).zip(b.chunks_exact(64)) {
            // SAFETY: each chunk has 64 bytes, and the load needs no alignment.
            let (x, y) = unsafe { (_mm512_loadu_si512(x.as_ptr().cast()), _mm512_loadu_si512(y.as_ptr().cast())) };
            sums = _mm512_dpbusd_epi32(sums, _mm512_xor_si512(y, sign_bit), x);
        }
        _mm512_reduce_add_epi32(sums)
    }
}
