//! What was computed lately.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Keeps the values of the keys that were used last, up to what they may cost together.
#[derive(Debug)]
pub struct Recent<K, V> {
    most: usize,
    cost: usize,
    clock: u64,
    values: FxHashMap<K, Kept<V>>,
}

#[derive(Debug)]
struct Kept<V> {
    used: u64,
    cost: usize,
    value: V,
}

impl<K: Hash + Eq, V: Clone> Recent<K, V> {
    /// Room for values that cost `most` together.
    pub fn new(most: usize) -> Self {
        Self { most, cost: 0, clock: 0, values: FxHashMap::default() }
    }

    /// The value of a key, if it is still there.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.clock += 1;
        let kept = self.values.get_mut(key)?;
        kept.used = self.clock;
        Some(kept.value.clone())
    }

    /// Keeps a value, in place of an earlier one. When there is no room for it, the half of the others that was not used
    /// for longest goes, and again, until there is. One that costs more than there is room for is not kept.
    pub fn put(&mut self, key: K, value: V, cost: usize) {
        if cost > self.most {
            return;
        }
        self.clock += 1;
        let kept = Kept { used: self.clock, cost, value };
        if let Some(old) = self.values.insert(key, kept) {
            self.cost -= old.cost;
        }
        self.cost += cost;
        while self.cost > self.most {
            self.drop_older_half();
        }
    }

    fn drop_older_half(&mut self) {
        let mut used: Vec<u64> = self.values.values().map(|kept| kept.used).collect();
        let middle = (used.len() - 1) / 2;
        let newest_dropped = *used.select_nth_unstable(middle).1;
        self.values.retain(|_, kept| kept.used > newest_dropped);
        self.cost = self.values.values().map(|kept| kept.cost).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut recent = Recent::new(4);
        for n in 0..4 {
            recent.put(n, n * 10, 1);
        }
        assert_eq!(recent.get(&0), Some(0));
        recent.put(4, 40, 1);
        assert_eq!((recent.get(&0), recent.get(&1), recent.get(&4)), (Some(0), None, Some(40)));
    }

    #[test]
    fn what_is_kept_never_costs_more_than_there_is_room_for() {
        let mut recent = Recent::new(100);
        for n in 0..1000_usize {
            recent.put(n % 70, n, n * 7 % 120);
            let cost: usize = recent.values.values().map(|kept| kept.cost).sum();
            assert!(cost <= 100 && cost == recent.cost);
        }
        recent.put(1, 1, 101);
        assert_ne!(recent.get(&1), Some(1));
    }
}
