//! Ranks sentences by TextRank.
//!
//! Source: R. Mihalcea and P. Tarau, "TextRank: Bringing Order into Texts", 2004.

use std::collections::BTreeSet;

/// Probability of following a link, as in the paper; its complement; and the number of iterations.
const DAMPING: f64 = 0.85;
const BASE_RANK: f64 = 0.15;
const ITERATIONS: usize = 30;

/// Returns the rank of each sentence, given as its set of terms. Sentences that share terms are linked.
pub(super) fn ranks(sentences: &[&BTreeSet<String>]) -> Vec<f64> {
    let count = sentences.len();
    let links = links(sentences);
    let sums: Vec<f64> = links.iter().map(|row| row.iter().sum()).collect();
    let mut ranks = vec![1.0; count];
    for _ in 0..ITERATIONS {
        let flow = |to: usize| -> f64 {
            (0..count).filter(|from| sums[*from] > 0.0).map(|from| links[from][to] / sums[from] * ranks[from]).sum()
        };
        ranks = (0..count).map(|to| BASE_RANK + DAMPING * flow(to)).collect();
    }
    ranks
}

/// Returns the link weights: the number of shared terms, divided by the sum of the logarithms of the lengths.
fn links(sentences: &[&BTreeSet<String>]) -> Vec<Vec<f64>> {
    let mut links = vec![vec![0.0_f64; sentences.len()]; sentences.len()];
    for a in 0..sentences.len() {
        for b in 0..a {
            let shared = sentences[a].intersection(sentences[b]).count() as f64;
            let size = ((sentences[a].len() + 1) as f64).ln() + ((sentences[b].len() + 1) as f64).ln();
            links[a][b] = shared / size;
            links[b][a] = links[a][b];
        }
    }
    links
}

/// Returns the share of the terms of the shorter sentence that the other one contains, 0 to 1.
pub(super) fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.len().min(b.len()).max(1) as f64
}
