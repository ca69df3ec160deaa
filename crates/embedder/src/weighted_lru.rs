//! A least-recently-used cache with a budget for the total cost of its values.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use rustc_hash::FxBuildHasher;

/// Keeps the most recently used values with a total cost within a budget.
#[derive(Debug)]
pub struct WeightedLru<K: Hash + Eq + Clone, V> {
    budget: usize,
    cost: usize,
    entries: HashMap<K, CacheEntry<V>, FxBuildHasher>,
    /// The keys by the number of their last use, the least recently used first.
    by_use: BTreeMap<u64, K>,
    /// Number of uses of all keys.
    uses: u64,
}

#[derive(Debug)]
struct CacheEntry<V> {
    value: V,
    cost: usize,
    last_use: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> WeightedLru<K, V> {
    /// Creates an empty cache for values with a total cost of at most `budget`.
    pub fn new(budget: usize) -> Self {
        Self { budget, cost: 0, entries: HashMap::default(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Returns the value of a key and marks it as used.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.get_mut(key)?;
        self.uses += 1;
        if let Some(key) = self.by_use.remove(&entry.last_use) {
            self.by_use.insert(self.uses, key);
        }
        entry.last_use = self.uses;
        Some(entry.value.clone())
    }

    /// Stores a value, in place of an earlier one, and evicts the least recently used values until the total cost is
    /// within the budget. A value that costs more than the budget is not stored.
    pub fn put(&mut self, key: K, value: V, cost: usize) {
        if cost > self.budget {
            return;
        }
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        if let Some(replaced) = self.entries.insert(key, CacheEntry { value, cost, last_use: self.uses }) {
            self.by_use.remove(&replaced.last_use);
            self.cost -= replaced.cost;
        }
        self.cost += cost;
        while self.cost > self.budget
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some(evicted) = self.entries.remove(&oldest)
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
            let cost: usize = cache.entries.values().map(|entry| entry.cost).sum();
            assert!(cost <= 100 && cost == cache.cost);
            assert_eq!(cache.entries.len(), cache.by_use.len());
        }
        cache.put(1, 1, 101);
        assert_ne!(cache.get(&1), Some(1));
    }
}
