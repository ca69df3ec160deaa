//! Cutting a long text into sequences that an encoder can take.

/// The sequences of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Each with its special tokens, and with the prefix where the text has one.
    pub(crate) sequences: Vec<Vec<u32>>,
    /// Number of tokens at the front of each sequence that are not part of the text: one special token and the
    /// prefix. One token at the end is special, too.
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
mod tests;
