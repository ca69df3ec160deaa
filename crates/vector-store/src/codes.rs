//! Vectors in codes of one byte a number: a quarter of the size, and how far that can be off.

use std::{
    io::{self, Read, Write},
    num::NonZero,
    ops::Range,
};

use memory_engine_core::{
    Kernel,
    snapshot::{SnapshotReader, SnapshotWriter},
};

use crate::kernel::{self, rows::Rows};

/// The largest code.
const TOP: f32 = 127.0;
/// Maximum rounding error of a sum of some thousand products in single precision, relative to the product of the two
/// lengths.
const ROUNDING_ERROR: f32 = 1e-5;

/// Error bound of a sum of many small errors, in standard deviations.
const SIGMAS: f32 = 7.0;

/// Fewer rows than this are not parted among processors.
const PART_ROWS: usize = 4096;

/// Rows of codes. Number i of a row is about `codes[i] · scale`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Codes {
    codes: Vec<i8>,
    about: Vec<About>,
}

/// Scale and error bounds of the codes of a row.
#[derive(Debug, Clone, Copy)]
struct About {
    /// The value of one step of a code.
    scale: f32,
    /// The length of the decoded vector.
    length: f32,
    /// The length of the difference between the vector and the decoded one.
    missing: f32,
}

/// About what an inner product is, and by how much it can be off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) product: f32,
    pub(crate) slack: f32,
}

impl Codes {
    pub(crate) fn push(&mut self, values: &[f32]) {
        let about = encode(values, &mut self.codes);
        self.about.push(about);
    }

    /// Writes these rows.
    pub(crate) fn save<W: Write>(
        &self,
        out: &mut SnapshotWriter<W>,
        rows: Range<usize>,
        width: usize,
    ) -> io::Result<()> {
        out.array(&self.codes[rows.start * width..rows.end * width])?;
        let about = self.about[rows].iter().map(|about| [about.scale, about.length, about.missing]);
        out.array(&about.collect::<Vec<[f32; 3]>>())
    }

    /// Reads rows of this width that were written, and puts them behind its own; how many they are.
    pub(crate) fn extend<R: Read>(&mut self, input: &mut SnapshotReader<R>, width: usize) -> io::Result<usize> {
        let before = self.codes.len();
        input.append(&mut self.codes)?;
        let about: Vec<[f32; 3]> = input.array()?;
        if self.codes.len() - before != about.len() * width {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let rows = about.len();
        self.about.extend(about.into_iter().map(|[scale, length, missing]| About { scale, length, missing }));
        Ok(rows)
    }

    /// Reserves memory for this many more rows.
    pub(crate) fn reserve(&mut self, rows: usize, width: usize) {
        self.codes.reserve(rows * width);
        self.about.reserve(rows);
    }

    /// Compares the numbers of each row with `than`. Returns one bit per number, in words of 64; the last word of a
    /// row may be partial. Many rows are split among the processors.
    pub(crate) fn greater(&self, than: &[f32]) -> Vec<u64> {
        let scales: Vec<f32> = self.about.iter().map(|about| about.scale).collect();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let part = scales.len().div_ceil(processors).max(PART_ROWS);
        let part_of = |(codes, scales): (&[i8], &[f32])| {
            let mut words = Vec::with_capacity(scales.len() * than.len().div_ceil(64));
            kernel::greater(Kernel::detect(), than, codes, scales, &mut words);
            words
        };
        let mut parts = self.codes.chunks((part * than.len()).max(1)).zip(scales.chunks(part));
        std::thread::scope(|threads| {
            let Some(first) = parts.next() else { return Vec::new() };
            let others: Vec<_> = parts.map(|part| threads.spawn(move || part_of(part))).collect();
            let mut words = part_of(first);
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
        let last = self.about.len() - 1;
        self.codes.copy_within(last * width..(last + 1) * width, row * width);
        self.codes.truncate(last * width);
        self.about.swap_remove(row);
    }

    /// About what the inner product of the query with each of the rows is, in their order.
    pub(crate) fn estimates(&self, query: &[f32], rows: Rows<'_>) -> Vec<Estimate> {
        let mut codes = Vec::with_capacity(query.len());
        let asked = encode(query, &mut codes);
        let mut products = Vec::with_capacity(rows.len());
        kernel::code_products(Kernel::detect(), &codes, &self.codes, rows, &mut products);
        let length = asked.length + asked.missing;
        let estimate = |(place, product): (usize, i32)| {
            let row = self.about[rows.at(place)];
            // q · x = q̂ · x̂ + q · (x − x̂) + (q − q̂) · x̂, and no inner product is greater than the two lengths.
            let slack = length * row.missing
                + asked.missing * row.length
                + ROUNDING_ERROR * length * (row.length + row.missing);
            Estimate { product: product as f32 * asked.scale * row.scale, slack }
        };
        products.into_iter().enumerate().map(estimate).collect()
    }

    /// The numbers that a row of codes stands for, in `values`.
    pub(crate) fn decode(&self, row: usize, width: usize, values: &mut Vec<f32>) {
        let scale = self.about[row].scale;
        values.clear();
        values.extend(self.codes[row * width..(row + 1) * width].iter().map(|code| f32::from(*code) * scale));
    }

    /// Returns an estimate of the inner product of the exact query with a row, with a tighter bound than
    /// [`estimates`](Self::estimates).
    ///
    /// It is taken to be off by no more than [`SIGMAS`] standard deviations of what rounding leaves out: one of some
    /// 10¹¹ is.
    pub(crate) fn closer(&self, query: &[f32], length: f32, row: u32) -> Estimate {
        let (row, width) = (row as usize, query.len());
        let about = self.about[row];
        let product = kernel::mixed_product(query, &self.codes[row * width..(row + 1) * width]) * about.scale;
        let part = (SIGMAS / (width as f32).sqrt()).min(1.0);
        let slack = part * length * about.missing + ROUNDING_ERROR * length * (about.length + about.missing);
        Estimate { product, slack }
    }
}

fn encode(values: &[f32], codes: &mut Vec<i8>) -> About {
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = (largest / TOP).max(f32::MIN_POSITIVE);
    let (mut length, mut missing) = (0.0_f64, 0.0_f64);
    codes.extend(values.iter().map(|value| {
        let code = (value / scale).round().clamp(-TOP, TOP);
        let kept = f64::from(code) * f64::from(scale);
        length += kept * kept;
        missing += (f64::from(*value) - kept).powi(2);
        code as i8
    }));
    // A little more than it is, so that rounding never makes it less.
    let up = |sum: f64| (sum.sqrt() * (1.0 + 1e-6)) as f32;
    About { scale, length: up(length), missing: up(missing) }
}

#[cfg(test)]
mod tests;
