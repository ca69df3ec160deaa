//! A padded batch of sequences.

/// Sequences, padded to the length of the longest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) ids: Vec<i64>,
    /// 1 for a token, 0 for padding.
    pub(super) mask: Vec<i64>,
    /// 0 for the first text of a pair; 1 for the second if the model distinguishes them.
    pub(super) types: Vec<i64>,
}

impl Batch {
    /// Creates a batch of sequences, each with the index of its second text (its length if there is none).
    pub(super) fn new(sequences: &[(Vec<u32>, usize)]) -> Self {
        let rows = sequences.len();
        let width = sequences.iter().map(|(ids, _)| ids.len()).max().unwrap_or(0);
        let mut batch = Self { rows, width, ..Self::default() };
        for (ids, second) in sequences {
            let padding = width - ids.len();
            let pad = move |value| std::iter::repeat_n(value, padding);
            batch.ids.extend(ids.iter().map(|id| i64::from(*id)).chain(pad(0)));
            batch.mask.extend(ids.iter().map(|_| 1).chain(pad(0)));
            batch.types.extend((0..ids.len()).map(|index| i64::from(index >= *second)).chain(pad(0)));
        }
        batch
    }

    /// Returns the number of tokens of a row.
    pub(super) fn length(&self, row: usize) -> usize {
        self.mask[row * self.width..(row + 1) * self.width].iter().filter(|mask| **mask == 1).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_sequences_are_padded_and_masked() {
        let batch = Batch::new(&[(vec![2, 7, 3], 3), (vec![2, 7, 3, 8, 3], 3)]);
        assert_eq!(batch.ids, [2, 7, 3, 0, 0, 2, 7, 3, 8, 3]);
        assert_eq!(batch.mask, [1, 1, 1, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(batch.types, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((batch.length(0), batch.length(1)), (3, 5));
    }
}
