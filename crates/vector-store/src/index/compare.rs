//! Compares two indexes, to check a stored one.

use std::hash::Hash;

use super::FlatIndex;

impl<K: Copy + Ord + Hash, G: Copy + Eq + Hash> FlatIndex<K, G> {
    /// Returns the number of vectors of `sample` that this index does not contain in the same group and with the same
    /// codes. Codes may differ by the rounding of another processor.
    pub fn count_differences(&self, sample: &Self) -> usize {
        let differs = |(sample_row, key): (usize, &K)| {
            let Some(row) = self.rows.find(key, &self.keys) else { return true };
            let row = row as usize;
            self.memberships[row].group != sample.memberships[sample_row].group
                || !self.vectors.row_equals(row, &sample.vectors, sample_row)
        };
        sample.keys.iter().enumerate().filter(|pair| differs(*pair)).count()
    }
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Embedding, EmbeddingSpace};

    use super::*;

    #[test]
    fn missing_moved_and_changed_vectors_are_counted() {
        let space = EmbeddingSpace::cosine("test", 3);
        let vector = |x: f32| Embedding::new(vec![x, 1.0, -0.5]).unwrap();
        let index = |rows: &[(i64, i64, f32)]| {
            let mut index = FlatIndex::lean(&space);
            rows.iter().for_each(|(key, group, x)| assert!(index.insert(*key, *group, vector(*x))));
            index
        };
        let stored = index(&[(1, 1, 0.1), (2, 1, 0.2), (3, 2, 0.3), (4, 2, 0.4)]);
        assert_eq!(stored.count_differences(&index(&[(4, 2, 0.4), (1, 1, 0.1)])), 0);
        assert_eq!(stored.count_differences(&index(&[(5, 2, 0.4)])), 1, "missing");
        assert_eq!(stored.count_differences(&index(&[(3, 1, 0.3)])), 1, "in another group");
        assert_eq!(stored.count_differences(&index(&[(2, 1, 0.9), (1, 1, 0.1)])), 1, "another vector");
    }
}
