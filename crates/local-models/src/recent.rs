//! What was computed lately.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Keeps the values of the keys that were used last.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    most: usize,
    clock: u64,
    values: FxHashMap<K, (u64, V)>,
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    /// Room for `most` values.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), clock: 0, values: FxHashMap::default() }
    }

    /// The value of a key, if it is still there.
    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let (used, value) = self.values.get_mut(key)?;
        *used = self.clock;
        Some(value.clone())
    }

    /// Keeps a value. When there is no room left, the half that was not used for longest goes.
    pub(crate) fn put(&mut self, key: K, value: V) {
        self.clock += 1;
        if self.values.len() >= self.most && !self.values.contains_key(&key) {
            let mut used: Vec<u64> = self.values.values().map(|(used, _)| *used).collect();
            let middle = used.len() / 2;
            let oldest_kept = *used.select_nth_unstable(middle).1;
            self.values.retain(|_, (used, _)| *used > oldest_kept);
        }
        self.values.insert(key, (self.clock, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut recent = Recent::new(4);
        for n in 0..4 {
            recent.put(n, n * 10);
        }
        assert_eq!(recent.get(&0), Some(0));
        recent.put(4, 40);
        assert_eq!((recent.get(&0), recent.get(&1), recent.get(&4)), (Some(0), None, Some(40)));
        for n in 0..1000 {
            recent.put(n, n);
            assert!(recent.values.len() <= 4);
        }
    }
}
