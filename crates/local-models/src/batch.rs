//! Runs many sequences through an encoder on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{ArrayView2, Axis};

use crate::encoder::{Encoder, Scratch};

/// Maximum number of tokens of one forward pass. Each weight is used several times while it is in the cache, and the
/// activations fit into the cache too.
const GROUP_TOKENS: usize = 320;

/// Runs all sequences and calls `finish` with the index and the last hidden state of each: a row for each token.
/// Results are in the order of the sequences and do not depend on `threads`.
pub(crate) fn run<T: Send>(
    encoder: &Encoder,
    sequences: &[&[u32]],
    threads: usize,
    finish: impl Fn(usize, ArrayView2<'_, f32>) -> T + Sync,
) -> Vec<T> {
    let groups = group(sequences, threads);
    let run_group = |group: &(usize, usize), scratch: &mut Scratch| {
        let sequences = &sequences[group.0..group.1];
        let mut hidden = encoder.run(sequences, scratch);
        let mut results = Vec::with_capacity(sequences.len());
        for (index, sequence) in sequences.iter().enumerate() {
            let (states, rest) = hidden.split_at(Axis(0), sequence.len());
            results.push(finish(group.0 + index, states));
            hidden = rest;
        }
        results
    };
    let threads = threads.clamp(1, groups.len().max(1));
    if threads == 1 {
        let mut scratch = Scratch::default();
        return groups.iter().flat_map(|group| run_group(group, &mut scratch)).collect();
    }
    let next = AtomicUsize::new(0);
    let run_groups = || {
        let mut scratch = Scratch::default();
        let mut done = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((group.0, run_group(group, &mut scratch)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run_groups)).collect();
        let mut done = run_groups();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(cause) => std::panic::resume_unwind(cause),
            }
        }
        done
    });
    done.sort_unstable_by_key(|&(first, _)| first);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

/// Splits the sequences into index ranges of about equal numbers of tokens, at most [`GROUP_TOKENS`] each.
fn group(sequences: &[&[u32]], threads: usize) -> Vec<(usize, usize)> {
    let total: usize = sequences.iter().map(|sequence| sequence.len()).sum();
    let limit = total.div_ceil(threads.max(1)).clamp(1, GROUP_TOKENS);
    let mut groups = Vec::new();
    let mut first = 0;
    let mut tokens = 0;
    for (index, sequence) in sequences.iter().enumerate() {
        if index > first && tokens + sequence.len() > limit {
            groups.push((first, index));
            first = index;
            tokens = 0;
        }
        tokens += sequence.len();
    }
    if first < sequences.len() {
        groups.push((first, sequences.len()));
    }
    groups
}

#[cfg(test)]
mod tests;
