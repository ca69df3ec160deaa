//! Cutting a long text into sequences that an encoder can take.

/// The sequences of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Each with its special tokens, and with the prefix where the text has one.
    pub(crate) sequences: Vec<Vec<u32>>,
    /// How many tokens at the front of each sequence are not the text's own: one special token
    /// and the prefix. One token at the end is special, too.
    pub(crate) skip: usize,
}

impl Windows {
    /// Cuts `ids` into as few windows as `max_tokens` allows, of nearly equal length, so that no
    /// short rest gets a say of its own. Every window repeats the prefix, because that is what
    /// the model was trained on.
    pub(crate) fn cut(ids: &[u32], prefix: usize, ends: (u32, u32), max_tokens: usize) -> Self {
        // A prefix that leaves hardly any room is treated as text.
        let prefix = if prefix * 2 < max_tokens { prefix.min(ids.len()) } else { 0 };
        let (front, body) = ids.split_at(prefix);
        let room = max_tokens.saturating_sub(2 + prefix).max(1);
        let count = body.len().div_ceil(room).max(1);
        let sequences = (0..count)
            .map(|index| {
                let part = &body[body.len() * index / count..body.len() * (index + 1) / count];
                let mut sequence = Vec::with_capacity(part.len() + prefix + 2);
                sequence.push(ends.0);
                sequence.extend_from_slice(front);
                sequence.extend_from_slice(part);
                sequence.push(ends.1);
                sequence
            })
            .collect();
        Self { sequences, skip: 1 + prefix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_sequence_between_the_special_tokens() {
        let windows = Windows::cut(&[5, 6, 7], 1, (0, 2), 8);
        assert_eq!(windows, Windows { sequences: vec![vec![0, 5, 6, 7, 2]], skip: 2 });
    }

    #[test]
    fn an_empty_text_is_the_special_tokens_alone() {
        let windows = Windows::cut(&[], 0, (0, 2), 8);
        assert_eq!(windows, Windows { sequences: vec![vec![0, 2]], skip: 1 });
    }

    #[test]
    fn a_long_text_is_cut_evenly_and_every_window_has_the_prefix() {
        let ids: Vec<u32> = (100..111).collect();
        let windows = Windows::cut(&ids, 1, (0, 2), 8);
        let expected = vec![vec![0, 100, 101, 102, 103, 104, 105, 2], vec![0, 100, 106, 107, 108, 109, 110, 2]];
        assert_eq!(windows.sequences, expected);
    }

    #[test]
    fn no_window_is_longer_than_allowed_and_no_token_is_lost() {
        for length in 0..60 {
            for prefix in 0..4 {
                let ids: Vec<u32> = (10..10 + length).collect();
                let windows = Windows::cut(&ids, prefix, (0, 2), 9);
                let front = windows.skip;
                assert!(windows.sequences.iter().all(|sequence| sequence.len() <= 9));
                let body = windows.sequences.iter().flat_map(|s| &s[front..s.len() - 1]);
                let all: Vec<u32> = ids[..front - 1].iter().chain(body).copied().collect();
                assert_eq!(all, ids);
            }
        }
    }
}
