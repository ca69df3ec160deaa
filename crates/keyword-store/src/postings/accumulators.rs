//! Accumulators: the partial scores of documents during a search.

/// The accumulators of a search: a sum for each document slot that a clause has contributed to.
#[derive(Debug)]
pub(super) struct Accumulators {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

/// Marks a slot without a sum. Every sum is finite.
const UNTOUCHED: f64 = f64::NEG_INFINITY;

impl Accumulators {
    /// Returns accumulators for this many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { sums: vec![UNTOUCHED; slots], touched: Vec::new() }
    }

    /// Makes room for at least this many slots.
    pub(super) fn ensure_slots(&mut self, slots: usize) {
        if self.sums.len() < slots {
            self.sums.resize(slots, UNTOUCHED);
        }
    }

    /// Number of slots with a sum.
    pub(super) fn len(&self) -> usize {
        self.touched.len()
    }

    /// Adds the contribution of a clause to the sum of a slot.
    #[inline]
    pub(super) fn add(&mut self, slot: u32, contribution: f64) {
        let sum = &mut self.sums[slot as usize];
        if *sum == UNTOUCHED {
            *sum = 0.0;
            self.touched.push(slot);
        }
        *sum += contribution;
    }

    /// Returns the `k`-th largest sum; `None` if there are fewer sums.
    pub(super) fn kth_best(&self, k: usize) -> Option<f64> {
        if k == 0 || self.touched.len() < k {
            return None;
        }
        let mut sums: Vec<f64> = self.touched.iter().map(|slot| self.sums[*slot as usize]).collect();
        Some(*sums.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1)
    }

    /// Returns each slot with its sum, and removes the sums.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, f64)> {
        let sums = &mut self.sums;
        self.touched.drain(..).map(move |slot| (slot, std::mem::replace(&mut sums[slot as usize], UNTOUCHED)))
    }
}
