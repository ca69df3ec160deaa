//! Vectors as the signs of their numbers, one bit each: what is far away is told from what may be near.

use memory_engine_core::Kernel;

use crate::{
    codes::Codes,
    kernel::{
        self,
        rows::{LANES, Rows},
    },
};

/// Number of rows that are compared with the limit at once.
const BLOCK_ROWS: usize = 16;

/// Maximum number of rows, evenly spread, of which the mean is computed.
const MEAN_MAX_ROWS: usize = 4096;

/// The signs of the numbers of each row, less the mean of the rows that there were when it was taken. Without that the
/// vectors of a model that all point one way would all be alike.
#[derive(Debug, Clone)]
pub(crate) struct Signs {
    mean: Vec<f32>,
    /// Number of rows at the time when the mean was computed.
    taken_of: usize,
    /// 64 signs a word; [`LANES`] rows side by side, word by word.
    words: Vec<u64>,
    rows: usize,
}

impl Signs {
    /// Computes the signs of the first `rows` rows of codes of this width.
    pub(crate) fn of(codes: &Codes, rows: usize, width: usize) -> Self {
        let (mut sums, mut values) = (vec![0.0_f64; width], Vec::with_capacity(width));
        let looked_at = (0..rows).step_by(rows.div_ceil(MEAN_MAX_ROWS).max(1));
        let count = looked_at.len().max(1);
        for row in looked_at {
            codes.decode(row, width, &mut values);
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        let mean: Vec<f32> = sums.into_iter().map(|sum| (sum / count as f64) as f32).collect();
        let words = vec![0; width.div_ceil(64) * rows.next_multiple_of(LANES)];
        let mut signs = Self { mean, taken_of: rows, words, rows };
        for (row, words) in codes.greater(&signs.mean).chunks_exact(width.div_ceil(64).max(1)).enumerate() {
            for (word, bits) in words.iter().enumerate() {
                let place = signs.place(row, word);
                signs.words[place] = *bits;
            }
        }
        signs
    }

    /// Returns true if the number of rows has more than doubled since the mean was computed.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.rows > 2 * self.taken_of
    }

    pub(crate) fn push(&mut self, values: &[f32]) {
        let row = self.rows;
        if row.is_multiple_of(LANES) {
            self.words.resize(self.words.len() + self.width() * LANES, 0);
        }
        self.rows += 1;
        let positive = values.iter().zip(&self.mean).map(|(value, mean)| value > mean);
        let words: Vec<u64> = pack(positive);
        for (word, bits) in words.into_iter().enumerate() {
            let place = self.place(row, word);
            self.words[place] = bits;
        }
    }

    /// Removes a row; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, row: usize) {
        self.rows -= 1;
        for word in 0..self.width() {
            let (from, to) = (self.place(self.rows, word), self.place(row, word));
            self.words[to] = self.words[from];
        }
        self.words.truncate(self.rows.div_ceil(LANES) * LANES * self.width());
    }

    /// Returns the rows of `among` whose signs differ least from the query's: `count` of them, and further ones that
    /// differ as much as the last. A difference in the larger half of the query's numbers counts three times.
    ///
    /// The differences of all rows are computed, those outside of a list too: the signs of neighbouring rows lie side
    /// by side.
    pub(crate) fn nearest(&self, query: &[f32], among: Rows<'_>, count: usize) -> Vec<u32> {
        let differences = self.differences(query);
        match among {
            Rows::First(_) => rows_up_to(&differences, count_up_to(&differences, count), count),
            Rows::Of(rows) => {
                let listed: Vec<u16> = rows.iter().map(|row| differences[*row as usize]).collect();
                let limit = count_up_to(&listed, count);
                let pairs = rows.iter().zip(&listed);
                pairs.filter(|(_, difference)| **difference <= limit).map(|(row, _)| *row).collect()
            }
        }
    }

    fn differences(&self, query: &[f32]) -> Vec<u16> {
        let shifted: Vec<f32> = query.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect();
        let mut sizes: Vec<f32> = shifted.iter().map(|value| value.abs()).collect();
        let middle = sizes.len() / 2;
        let median = *sizes.select_nth_unstable_by(middle, f32::total_cmp).1;
        let query_signs = pack(shifted.iter().map(|value| *value > 0.0));
        let heavy = pack(shifted.iter().map(|value| value.abs() > median));
        let mut differences = Vec::with_capacity(self.rows + LANES);
        kernel::differences(Kernel::detect(), &query_signs, &heavy, &self.words, self.rows, &mut differences);
        differences
    }

    fn width(&self) -> usize {
        self.mean.len().div_ceil(64)
    }

    fn place(&self, row: usize, word: usize) -> usize {
        (row / LANES * self.width() + word) * LANES + row % LANES
    }
}

/// Returns the rows whose difference is at most `limit`. `expected` is about how many there are.
fn rows_up_to(differences: &[u16], limit: u16, expected: usize) -> Vec<u32> {
    let mut near = Vec::with_capacity(expected + expected / 4);
    for (block, first) in differences.chunks(BLOCK_ROWS).zip((0..).step_by(BLOCK_ROWS)) {
        // Most blocks hold nothing near, which the compiler finds out for all of one at once.
        if block.iter().fold(u16::MAX, |least, difference| least.min(*difference)) <= limit {
            near.extend((first..).zip(block).filter(|(_, difference)| **difference <= limit).map(|(row, _)| row));
        }
    }
    near
}

/// The least difference up to which there are `count` rows.
fn count_up_to(differences: &[u16], count: usize) -> u16 {
    let most = differences.iter().copied().max().unwrap_or_default();
    // Two counters, since the same one again and again has to wait for itself.
    let mut counts = vec![[0_u32; 2]; usize::from(most) + 1];
    for pair in differences.chunks(2) {
        pair.iter().zip(0..).for_each(|(difference, side): (_, usize)| counts[usize::from(*difference)][side] += 1);
    }
    let mut sum = 0;
    let reached = counts.iter().position(|[left, right]| {
        sum += (left + right) as usize;
        sum >= count
    });
    reached.map_or(most, |difference| difference as u16)
}

fn pack(bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (place, bit) in bits.enumerate() {
        if place.is_multiple_of(64) {
            words.push(0);
        }
        if let (true, Some(word)) = (bit, words.last_mut()) {
            *word |= 1 << (place % 64);
        }
    }
    words
}

#[cfg(test)]
mod tests;
