//! A least-recently-used cache with a budget.

use std::{borrow::Borrow, hash::Hash};

use lru::LruCache;
use rustc_hash::FxBuildHasher;

/// Keeps the most recently used values whose costs fit into a budget together.
#[derive(Debug)]
pub struct WeightedLru<K: Hash + Eq, V> {
    budget: usize,
    cost: usize,
    entries: LruCache<K, Entry<V>, FxBuildHasher>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    cost: usize,
}

impl<K: Hash + Eq, V: Clone> WeightedLru<K, V> {
    /// Makes an empty cache for values with a total cost of at most `budget`.
    pub fn new(budget: usize) -> Self {
        Self { budget, cost: 0, entries: LruCache::unbounded_with_hasher(FxBuildHasher) }
    }

    /// Returns the value of a key and marks it as used.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| entry.value.clone())
    }

    /// Stores a value, in place of an earlier one, and evicts the least recently used values until the budget is kept. A
    /// value that costs more than the budget is not stored.
    pub fn put(&mut self, key: K, value: V, cost: usize) {
        if cost > self.budget {
            return;
        }
        if let Some(replaced) = self.entries.put(key, Entry { value, cost }) {
            self.cost -= replaced.cost;
        }
        self.cost += cost;
        while self.cost > self.budget
            && let Some((_, evicted)) = self.entries.pop_lru()
        {
            self.cost -= evicted.cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_evicted() {
        let mut cache = WeightedLru::new(4);
        for n in 0..4 {
            cache.put(n, n * 10, 1);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.put(4, 40, 1);
        assert_eq!((cache.get(&0), cache.get(&1), cache.get(&2), cache.get(&4)), (Some(0), None, Some(20), Some(40)));
    }

    #[test]
    fn the_total_cost_never_exceeds_the_budget() {
        let mut cache = WeightedLru::new(100);
        for n in 0..1000_usize {
            cache.put(n % 70, n, n * 7 % 120);
            let cost: usize = cache.entries.iter().map(|(_, entry)| entry.cost).sum();
            assert!(cost <= 100 && cost == cache.cost);
        }
        cache.put(1, 1, 101);
        assert_ne!(cache.get(&1), Some(1));
    }
}
