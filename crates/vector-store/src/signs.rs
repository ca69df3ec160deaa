//! Vectors as the signs of their numbers, one bit each: what is far away is told from what may be near.

use memory_engine_core::Kernel;

use crate::{
    codes::Codes,
    kernel::{self, rows::LANES},
};

/// How many rows are passed over at once.
const BLOCK: usize = 16;

/// Of how many rows, evenly spread, the mean is taken at the most.
const SAMPLED: usize = 4096;

/// The signs of the numbers of each row, less the mean of the rows that there were when it was taken. Without that the
/// vectors of a model that all point one way would all be alike.
#[derive(Debug, Clone)]
pub(crate) struct Signs {
    mean: Vec<f32>,
    /// How many rows the mean is of.
    taken_of: usize,
    /// 64 signs a word; [`LANES`] rows side by side, word by word.
    words: Vec<u64>,
    rows: usize,
}

impl Signs {
    /// The signs of so many rows of codes of this width.
    pub(crate) fn of(codes: &Codes, rows: usize, width: usize) -> Self {
        let (mut sums, mut values) = (vec![0.0_f64; width], Vec::with_capacity(width));
        let looked_at = (0..rows).step_by(rows.div_ceil(SAMPLED).max(1));
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

    /// Whether there are so many more rows by now that the mean is to be taken anew.
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

    /// The rows whose signs differ least from the query's: `count` of them, or some more that differ as much. The larger half
    /// of the query's numbers counts three times.
    pub(crate) fn nearest(&self, query: &[f32], count: usize) -> Vec<u32> {
        let shifted: Vec<f32> = query.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect();
        let mut sizes: Vec<f32> = shifted.iter().map(|value| value.abs()).collect();
        let middle = sizes.len() / 2;
        let median = *sizes.select_nth_unstable_by(middle, f32::total_cmp).1;
        let asked = pack(shifted.iter().map(|value| *value > 0.0));
        let heavy = pack(shifted.iter().map(|value| value.abs() > median));
        let mut differences = Vec::with_capacity(self.rows + LANES);
        kernel::differences(Kernel::detect(), &asked, &heavy, &self.words, self.rows, &mut differences);
        let limit = count_up_to(&differences, count);
        let mut near = Vec::with_capacity(count + count / 4);
        for (block, first) in differences.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            // Most blocks hold nothing near, which the compiler finds out for all of one at once.
            if block.iter().fold(u16::MAX, |least, difference| least.min(*difference)) <= limit {
                near.extend((first..).zip(block).filter(|(_, difference)| **difference <= limit).map(|(row, _)| row));
            }
        }
        near
    }

    fn width(&self) -> usize {
        self.mean.len().div_ceil(64)
    }

    fn place(&self, row: usize, word: usize) -> usize {
        (row / LANES * self.width() + word) * LANES + row % LANES
    }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is added and removed, the signs are those of the rows that are left.
        #[test]
        fn rows_that_come_and_go_leave_the_signs_of_the_others(
            width in 1..140_usize,
            steps in proptest::collection::vec((any::<u32>(), any::<bool>()), 0..60),
        ) {
            let vector = |seed: u32| -> Vec<f32> {
                (0..width).map(|n| if (seed.wrapping_mul(2_654_435_761) >> (n % 31)) & 1 == 1 { 1.0 } else { -1.0 }).collect()
            };
            let mut signs = Signs { mean: vec![0.0; width], taken_of: 1, words: Vec::new(), rows: 0 };
            let mut kept: Vec<u32> = Vec::new();
            for (seed, insert) in steps {
                if insert || kept.is_empty() {
                    signs.push(&vector(seed));
                    kept.push(seed);
                } else {
                    let row = seed as usize % kept.len();
                    signs.swap_remove(row);
                    kept.swap_remove(row);
                }
            }
            for (row, seed) in kept.iter().enumerate() {
                let words = pack(vector(*seed).iter().map(|value| *value > 0.0));
                for (word, bits) in words.into_iter().enumerate() {
                    prop_assert_eq!(signs.words[signs.place(row, word)], bits);
                }
            }
            if let Some(seed) = kept.first() {
                let nearest = signs.nearest(&vector(*seed), 1);
                prop_assert!(nearest.contains(&0), "nothing is nearer to a vector than itself");
            }
        }

        /// Taken of codes or one by one, the signs are the same.
        #[test]
        fn signs_of_codes_are_those_of_the_numbers_that_they_stand_for(
            rows in (1..150_usize).prop_flat_map(|width| {
                proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, width), 1..40)
            }),
        ) {
            let (mut codes, width) = (Codes::default(), rows[0].len());
            rows.iter().for_each(|row| codes.push(row));
            let taken = Signs::of(&codes, rows.len(), width);
            let mut pushed = Signs { mean: taken.mean.clone(), taken_of: 1, words: Vec::new(), rows: 0 };
            let mut values = Vec::new();
            for row in 0..rows.len() {
                codes.decode(row, width, &mut values);
                pushed.push(&values);
            }
            prop_assert_eq!(taken.words, pushed.words);
        }

        #[test]
        fn as_many_are_counted_as_are_wanted(differences in proptest::collection::vec(0_u16..50, 1..80), count in 1..90_usize) {
            let limit = count_up_to(&differences, count);
            let within = |limit: u16| differences.iter().filter(|d| **d <= limit).count();
            prop_assert!(within(limit) >= count.min(differences.len()));
            prop_assert!(limit == 0 || within(limit - 1) < count);
        }
    }
}
