//! Splits a long text into sequences that an encoder accepts.

/// The sequences of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Each has its special tokens and the prefix of the text, if any.
    pub(crate) sequences: Vec<Vec<u32>>,
    /// Number of tokens at the front of each sequence that are not part of the text: one special token and the
    /// prefix. One token at the end is special, too.
    pub(crate) skip: usize,
}

impl Windows {
    /// Splits `ids` into the fewest windows that `max_tokens` allows. They have nearly equal lengths, so that no short
    /// rest gets the weight of a full window. Every window repeats the prefix, as in the training of the model.
    pub(crate) fn cut(ids: &[u32], prefix: usize, ends: (u32, u32), max_tokens: usize) -> Self {
        // A prefix of half a window or more is treated as text.
        let prefix = if prefix * 2 < max_tokens { prefix.min(ids.len()) } else { 0 };
        let (prefix_ids, body) = ids.split_at(prefix);
        let room = max_tokens.saturating_sub(2 + prefix).max(1);
        let count = body.len().div_ceil(room).max(1);
        let sequences = (0..count)
            .map(|index| {
                let part = &body[body.len() * index / count..body.len() * (index + 1) / count];
                let mut sequence = Vec::with_capacity(part.len() + prefix + 2);
                sequence.push(ends.0);
                sequence.extend_from_slice(prefix_ids);
                sequence.extend_from_slice(part);
                sequence.push(ends.1);
                sequence
            })
            .collect();
        Self { sequences, skip: 1 + prefix }
    }
}

#[cfg(test)]
mod tests;
