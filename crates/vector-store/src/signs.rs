//! Binary quantization of vectors: the sign of each number, one bit. The weighted Hamming distance of the bits selects
//! the candidates of a search. It estimates the angle between two vectors as SimHash does (M. Charikar, "Similarity
//! Estimation Techniques from Rounding Algorithms", 2002), but without a random projection.

use memory_engine_core::Kernel;

use crate::{
    codes::Codes,
    kernel::{
        self,
        rows::{LANES, RowSelection},
    },
};

/// The threshold of the differences is estimated from one in this many rows.
const SAMPLE_STEP: usize = 16;

/// Number of rows of the sample that the estimate of the threshold includes in any case.
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
    /// 64 signs in each word. The words of [`LANES`] rows are interleaved.
    words: Vec<u64>,
    rows: usize,
}

impl Signs {
    /// Computes the mean and the signs of the first `rows` rows of codes of this width.
    pub(crate) fn of_codes(codes: &Codes, rows: usize, width: usize) -> Self {
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
        let mut signs = Self { mean, mean_rows: rows, words, rows };
        for (row, words) in codes.greater_bits(&signs.mean).chunks_exact(width.div_ceil(64).max(1)).enumerate() {
            for (word, bits) in words.iter().enumerate() {
                let index = signs.word_index(row, word);
                signs.words[index] = *bits;
            }
        }
        signs
    }

    /// Returns true if the number of rows has more than doubled since the mean was computed.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.rows > 2 * self.mean_rows
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        let row = self.rows;
        if row.is_multiple_of(LANES) {
            self.words.resize(self.words.len() + self.words_per_row() * LANES, 0);
        }
        self.rows += 1;
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
    /// the last of them. A difference in the larger half of the query's numbers counts three times.
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
    let sample: Vec<u16> = differences.iter().step_by(SAMPLE_STEP).copied().collect();
    // A quarter more than the share of the sample, so that almost never too few differences are at most this one.
    let sample_count = count / SAMPLE_STEP;
    let estimate = difference_threshold(&sample, sample_count + sample_count / 4 + SAMPLE_MARGIN);
    let mut nearest = indexes_within(differences, estimate, count);
    let threshold = if nearest.len() < count {
        let threshold = difference_threshold(differences, count);
        nearest = indexes_within(differences, threshold, count);
        threshold
    } else {
        let found: Vec<u16> = nearest.iter().map(|index| differences[*index as usize]).collect();
        difference_threshold(&found, count)
    };
    nearest.retain(|index| differences[*index as usize] <= threshold);
    nearest
}

/// Returns the indexes of the differences that are at most `threshold`. `expected` is their approximate number.
fn indexes_within(differences: &[u16], threshold: u16, expected: usize) -> Vec<u32> {
    let mut indexes = Vec::with_capacity(expected + expected / 2);
    kernel::indexes_within(Kernel::detect(), differences, threshold, &mut indexes);
    indexes
}

/// Returns the least difference that at least `count` differences do not exceed; the greatest one if there are fewer.
fn difference_threshold(differences: &[u16], count: usize) -> u16 {
    let greatest = differences.iter().copied().max().unwrap_or_default();
    let mut counts = vec![0_u32; usize::from(greatest) + 1];
    differences.iter().for_each(|difference| counts[usize::from(*difference)] += 1);
    let mut sum = 0;
    let threshold = counts.iter().position(|of_difference| {
        sum += *of_difference as usize;
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
