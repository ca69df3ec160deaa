//! Binary quantization of vectors: the sign of each number, one bit. The weighted Hamming distance of the bits selects
//! the candidates of a search. It estimates the angle between two vectors as SimHash does (M. Charikar, "Similarity
//! Estimation Techniques from Rounding Algorithms", 2002), but without a random projection.
//!
//! Reasons: `docs/design/decisions/0053-signs-for-long-lists.md`.

use memory_engine_core::Kernel;

use crate::{
    codes::Codes,
    kernel::{
        self,
        rows::{LANES, RowSelection},
    },
};

/// The threshold is estimated from every 16th difference.
const SAMPLE_STEP: usize = 16;

/// Added to the rank of the threshold in the sample, so that the estimate for a small count is not too low.
const SAMPLE_MARGIN: usize = 16;

/// Maximum number of rows, evenly spread, from which the mean is computed.
const MEAN_MAX_ROWS: usize = 4096;

/// The signs of the numbers of each row after subtracting a mean vector. Without the subtraction, the vectors of a
/// model that all point in one direction would have almost the same signs.
#[derive(Debug, Clone)]
pub(crate) struct Signs {
    mean: Vec<f32>,
    /// Number of rows at the time when the mean was computed.
    mean_rows: usize,
    /// Number of rows that were added since.
    added_rows: usize,
    /// 64 signs in each word. The words of [`LANES`] rows are interleaved.
    words: Vec<u64>,
    rows: usize,
}

impl Signs {
    /// Computes the mean and the signs of all rows of codes. The width is at least 1.
    pub(crate) fn of_codes(codes: &Codes, width: usize) -> Self {
        let rows = codes.rows();
        let mut sums = vec![0.0_f64; width];
        let mut values = Vec::with_capacity(width);
        let sample = (0..rows).step_by(rows.div_ceil(MEAN_MAX_ROWS).max(1));
        let sample_rows = sample.len().max(1);
        for row in sample {
            codes.decode(row, width, &mut values);
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        let mean: Vec<f32> = sums.into_iter().map(|sum| (sum / sample_rows as f64) as f32).collect();
        let words = vec![0; width.div_ceil(64) * rows.next_multiple_of(LANES)];
        let mut signs = Self { mean, mean_rows: rows, added_rows: 0, words, rows };
        for (row, words) in codes.greater_bits(&signs.mean).chunks_exact(width.div_ceil(64).max(1)).enumerate() {
            for (word, bits) in words.iter().enumerate() {
                let index = signs.word_index(row, word);
                signs.words[index] = *bits;
            }
        }
        signs
    }

    /// Returns true if more rows were added since the mean was computed than there were then.
    pub(crate) fn is_mean_outdated(&self) -> bool {
        self.added_rows > self.mean_rows
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        let row = self.rows;
        if row.is_multiple_of(LANES) {
            self.words.resize(self.words.len() + self.words_per_row() * LANES, 0);
        }
        self.rows += 1;
        self.added_rows += 1;
        let positive = values.iter().zip(&self.mean).map(|(value, mean)| value > mean);
        let words: Vec<u64> = pack(positive);
        for (word, bits) in words.into_iter().enumerate() {
            let index = self.word_index(row, word);
            self.words[index] = bits;
        }
    }

    /// Removes a row; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, row: usize) {
        self.rows -= 1;
        for word in 0..self.words_per_row() {
            let from = self.word_index(self.rows, word);
            let to = self.word_index(row, word);
            self.words[to] = self.words[from];
        }
        self.words.truncate(self.rows.div_ceil(LANES) * LANES * self.words_per_row());
    }

    /// Returns the `count` rows whose signs differ least from the query's, and all further rows that differ as much as
    /// the last of them. `RowSelection::First` must select all rows.
    ///
    /// A sign that differs counts three times in the dimensions in which the query, after subtracting the mean, has an
    /// absolute value above the median, and once in the others.
    ///
    /// The differences of all rows are computed, also of those outside of a list, because the signs of neighbouring
    /// rows are interleaved.
    pub(crate) fn nearest(&self, query: &[f32], rows: RowSelection<'_>, count: usize) -> Vec<u32> {
        let differences = self.differences(query);
        match rows {
            RowSelection::First(_) => least_differences(&differences, count),
            RowSelection::List(rows) => {
                let listed: Vec<u16> = rows.iter().map(|row| differences[*row as usize]).collect();
                least_differences(&listed, count).into_iter().map(|index| rows[index as usize]).collect()
            }
        }
    }

    /// Returns the difference of each row from the query.
    fn differences(&self, query: &[f32]) -> Vec<u16> {
        let centred: Vec<f32> = query.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect();
        let mut magnitudes: Vec<f32> = centred.iter().map(|value| value.abs()).collect();
        let middle = magnitudes.len() / 2;
        let median = *magnitudes.select_nth_unstable_by(middle, f32::total_cmp).1;
        let query_signs = pack(centred.iter().map(|value| *value > 0.0));
        let heavy = pack(centred.iter().map(|value| value.abs() > median));
        let mut differences = Vec::with_capacity(self.rows + LANES);
        kernel::differences(Kernel::detect(), &query_signs, &heavy, &self.words, self.rows, &mut differences);
        differences
    }

    fn words_per_row(&self) -> usize {
        self.mean.len().div_ceil(64)
    }

    /// Returns the index in `words` of a word of a row.
    fn word_index(&self, row: usize, word: usize) -> usize {
        (row / LANES * self.words_per_row() + word) * LANES + row % LANES
    }
}

/// Returns the indexes of the `count` least differences, and of all others that equal the greatest of them, in
/// ascending order.
fn least_differences(differences: &[u16], count: usize) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let sample: Vec<u16> = differences.iter().step_by(SAMPLE_STEP).copied().collect();
    // A quarter above the expected rank, so that the estimate is rarely too low.
    let expected_rank = count / SAMPLE_STEP;
    let estimate = difference_threshold(&sample, expected_rank + expected_rank / 4 + SAMPLE_MARGIN);
    let mut within_estimate = indexes_within(differences, estimate);
    if within_estimate.len() < count {
        return indexes_within(differences, difference_threshold(differences, count));
    }
    let least: Vec<u16> = within_estimate.iter().map(|index| differences[*index as usize]).collect();
    let threshold = difference_threshold(&least, count);
    within_estimate.retain(|index| differences[*index as usize] <= threshold);
    within_estimate
}

/// Returns the indexes of the differences that are at most `threshold`, in ascending order.
fn indexes_within(differences: &[u16], threshold: u16) -> Vec<u32> {
    let mut indexes = Vec::new();
    kernel::indexes_within(Kernel::detect(), differences, threshold, &mut indexes);
    indexes
}

/// Returns the smallest threshold that at least `count` differences do not exceed; the greatest difference if there are
/// fewer.
fn difference_threshold(differences: &[u16], count: usize) -> u16 {
    let greatest = differences.iter().copied().max().unwrap_or_default();
    let mut counts = vec![0_u32; usize::from(greatest) + 1];
    differences.iter().for_each(|difference| counts[usize::from(*difference)] += 1);
    let mut sum = 0;
    let threshold = counts.iter().position(|count_of_difference| {
        sum += *count_of_difference as usize;
        sum >= count
    });
    threshold.map_or(greatest, |difference| difference as u16)
}

/// Packs bits into words, the first bit into the lowest one.
fn pack(bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, bit) in bits.enumerate() {
        if index.is_multiple_of(64) {
            words.push(0);
        }
        if let (true, Some(word)) = (bit, words.last_mut()) {
            *word |= 1 << (index % 64);
        }
    }
    words
}

#[cfg(test)]
mod tests;
