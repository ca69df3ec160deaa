//! A set of rows.

/// Row numbers of records, one bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RowSet {
    words: Vec<u64>,
    len: usize,
}

impl RowSet {
    /// Returns the word and the bit of a row; `None` for a negative number.
    fn position(row: i64) -> Option<(usize, u64)> {
        let row = usize::try_from(row).ok()?;
        Some((row / 64, 1 << (row % 64)))
    }

    /// Returns true if the row is in the set.
    #[inline]
    pub(crate) fn contains(&self, row: i64) -> bool {
        Self::position(row).is_some_and(|(word, bit)| self.words.get(word).is_some_and(|bits| bits & bit != 0))
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the size of the set in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Returns true if there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn insert(&mut self, row: i64) {
        let Some((word, bit)) = Self::position(row) else { return };
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    pub(crate) fn remove(&mut self, row: i64) {
        if self.contains(row)
            && let Some((word, bit)) = Self::position(row)
        {
            self.words[word] &= !bit;
            self.len -= 1;
        }
    }

    /// Returns the rows in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = i64> {
        self.words.iter().enumerate().flat_map(|(word, bits)| {
            let mut remaining = *bits;
            std::iter::from_fn(move || {
                let bit = remaining.trailing_zeros();
                remaining &= remaining.wrapping_sub(1);
                (bit < 64).then(|| (word * 64) as i64 + i64::from(bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn row_set_behaves_as_a_set(steps in vec((any::<bool>(), -3_i64..300), 0..200)) {
            let mut set = RowSet::default();
            let mut expected = BTreeSet::new();
            for (insert, row) in steps {
                if insert {
                    set.insert(row);
                    expected.extend((row >= 0).then_some(row));
                } else {
                    set.remove(row);
                    expected.remove(&row);
                }
            }
            prop_assert_eq!(set.len(), expected.len());
            prop_assert_eq!(set.is_empty(), expected.is_empty());
            prop_assert!((-3..300).all(|row| set.contains(row) == expected.contains(&row)));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
