//! Scalar quantization of vectors: one signed byte for each number, a quarter of the size, with error bounds.

use std::{
    io::{self, Read, Write},
    num::NonZero,
    ops::Range,
};

use memory_engine_core::{
    Kernel,
    snapshot::{SnapshotReader, SnapshotWriter},
};

use crate::kernel::{self, quantization::Quantization, rows::RowSelection};

/// Maximum rounding error of a sum of some thousand products in single precision, relative to the product of the two
/// lengths.
const ROUNDING_ERROR: f32 = 1e-5;

/// Maximum relative difference of two scales that differ only by rounding.
const SCALE_TOLERANCE: f32 = 1e-4;

/// Error bound of a sum of many small errors, in standard deviations.
const SIGMAS: f32 = 7.0;

/// Minimum number of rows for each thread.
const THREAD_MIN_ROWS: usize = 4096;

/// Rows of codes. Number i of a row is about `codes[i] · scale`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Codes {
    codes: Vec<i8>,
    /// One for each row.
    bounds: Vec<CodeBounds>,
}

/// Scale and error bounds of the codes of a row.
#[derive(Debug, Clone, Copy)]
struct CodeBounds {
    /// The value of one step of a code.
    scale: f32,
    /// The length of the decoded vector.
    length: f32,
    /// The length of the difference between the vector and the decoded one.
    error_length: f32,
}

/// An approximate inner product and its maximum error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) product: f32,
    pub(crate) max_error: f32,
}

impl Codes {
    pub(crate) fn push(&mut self, values: &[f32]) {
        let bounds = encode(values, &mut self.codes);
        self.bounds.push(bounds);
    }

    /// Writes these rows.
    pub(crate) fn save<W: Write>(
        &self,
        out: &mut SnapshotWriter<W>,
        rows: Range<usize>,
        width: usize,
    ) -> io::Result<()> {
        out.array(&self.codes[rows.start * width..rows.end * width])?;
        let bounds = self.bounds[rows].iter().map(|bounds| [bounds.scale, bounds.length, bounds.error_length]);
        out.array(&bounds.collect::<Vec<[f32; 3]>>())
    }

    /// Reads rows of this width that [`save`](Self::save) has written, and appends them. Returns their number.
    pub(crate) fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>, width: usize) -> io::Result<usize> {
        let before = self.codes.len();
        input.append(&mut self.codes)?;
        let bounds: Vec<[f32; 3]> = input.array()?;
        if self.codes.len() - before != bounds.len() * width {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let rows = bounds.len();
        for [scale, length, error_length] in bounds {
            self.bounds.push(CodeBounds { scale, length, error_length });
        }
        Ok(rows)
    }

    /// Returns true if a row equals a row of `other`, apart from a difference of 1 in a code: another version of this
    /// crate may have rounded a number differently.
    pub(crate) fn row_equals(&self, row: usize, other: &Self, other_row: usize, width: usize) -> bool {
        let codes = &self.codes[row * width..(row + 1) * width];
        let other_codes = &other.codes[other_row * width..(other_row + 1) * width];
        let (scale, other_scale) = (self.bounds[row].scale, other.bounds[other_row].scale);
        (scale - other_scale).abs() <= SCALE_TOLERANCE * scale.abs()
            && codes.iter().zip(other_codes).all(|(code, other)| code.abs_diff(*other) <= 1)
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.bounds.len()
    }

    /// Reserves memory for this many more rows.
    pub(crate) fn reserve(&mut self, rows: usize, width: usize) {
        self.codes.reserve(rows * width);
        self.bounds.reserve(rows);
    }

    /// Compares the numbers of each row with the threshold of their dimension. Returns one bit for each number, 1 if it
    /// is greater, in words of 64; the last word of a row may be partial. Many rows are split among the processors.
    pub(crate) fn greater_bits(&self, thresholds: &[f32]) -> Vec<u64> {
        let scales: Vec<f32> = self.bounds.iter().map(|bounds| bounds.scale).collect();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let part_rows = scales.len().div_ceil(processors).max(THREAD_MIN_ROWS);
        let compare = |(codes, scales): (&[i8], &[f32])| {
            let mut words = Vec::with_capacity(scales.len() * thresholds.len().div_ceil(64));
            kernel::greater_bits(Kernel::detect(), thresholds, codes, scales, &mut words);
            words
        };
        let mut parts = self.codes.chunks((part_rows * thresholds.len()).max(1)).zip(scales.chunks(part_rows));
        std::thread::scope(|threads| {
            let Some(first) = parts.next() else { return Vec::new() };
            let others: Vec<_> = parts.map(|part| threads.spawn(move || compare(part))).collect();
            let mut words = compare(first);
            for other in others {
                match other.join() {
                    Ok(part) => words.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            words
        })
    }

    /// Removes a row; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, row: usize, width: usize) {
        let last = self.bounds.len() - 1;
        self.codes.copy_within(last * width..(last + 1) * width, row * width);
        self.codes.truncate(last * width);
        self.bounds.swap_remove(row);
    }

    /// Returns an estimate of the inner product of the query with each of the rows, in their order. The query is
    /// quantized too.
    pub(crate) fn estimates(&self, query: &[f32], rows: RowSelection<'_>) -> Vec<Estimate> {
        let mut codes = Vec::with_capacity(query.len());
        let query_bounds = encode(query, &mut codes);
        let mut products = Vec::with_capacity(rows.len());
        kernel::code_products(Kernel::detect(), &codes, &self.codes, rows, &mut products);
        let query_length = query_bounds.length + query_bounds.error_length;
        let estimate = |(index, product): (usize, i32)| {
            let row = self.bounds[rows.row(index)];
            // q · x = q̂ · x̂ + q · (x − x̂) + (q − q̂) · x̂, and by Cauchy-Schwarz an inner product is at most the
            // product of the two lengths.
            let max_error = query_length * row.error_length
                + query_bounds.error_length * row.length
                + ROUNDING_ERROR * query_length * (row.length + row.error_length);
            Estimate { product: product as f32 * query_bounds.scale * row.scale, max_error }
        };
        products.into_iter().enumerate().map(estimate).collect()
    }

    /// Replaces the content of `values` by the decoded numbers of a row.
    pub(crate) fn decode(&self, row: usize, width: usize, values: &mut Vec<f32>) {
        let scale = self.bounds[row].scale;
        values.clear();
        values.extend(self.codes[row * width..(row + 1) * width].iter().map(|code| f32::from(*code) * scale));
    }

    /// Returns an estimate of the inner product of the exact query with a row, with a tighter bound than
    /// [`estimates`](Self::estimates). `length` is that of the query.
    ///
    /// The bound is statistical: the rounding errors of the numbers are taken as independent, so that their sum exceeds
    /// [`SIGMAS`] standard deviations in about one of 10¹¹ estimates.
    pub(crate) fn refined_estimate(&self, query: &[f32], length: f32, row: u32) -> Estimate {
        let row = row as usize;
        let width = query.len();
        let bounds = self.bounds[row];
        let product = kernel::mixed_product(query, &self.codes[row * width..(row + 1) * width]) * bounds.scale;
        let error_share = (SIGMAS / (width as f32).sqrt()).min(1.0);
        let max_error = error_share * length * bounds.error_length
            + ROUNDING_ERROR * length * (bounds.length + bounds.error_length);
        Estimate { product, max_error }
    }
}

/// Appends the codes of a vector. Returns their scale and error bounds.
fn encode(values: &[f32], codes: &mut Vec<i8>) -> CodeBounds {
    let Quantization { scale, squared_length, squared_error } = kernel::encode(Kernel::detect(), values, codes);
    // Rounded up a little, so that single precision never makes a length too short.
    let rounded_up_root = |sum: f64| (sum.sqrt() * (1.0 + 1e-6)) as f32;
    CodeBounds { scale, length: rounded_up_root(squared_length), error_length: rounded_up_root(squared_error) }
}

#[cfg(test)]
mod tests;
