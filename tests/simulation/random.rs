//! Pseudo-random numbers that a seed determines.

/// A generator (xorshift64*).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of a seed. `purpose` separates the generators of one history.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mixed =
            (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut random = Self(mixed.max(1));
        random.number();
        random
    }

    fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.number() >> 11) % bound
    }

    /// Returns true with this probability, in percent.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the items; `None` if there are none.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len() as u64) as usize]) }
    }
}
