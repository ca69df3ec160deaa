//! The rank of sentences by TextRank (Mihalcea and Tarau 2004).

use std::collections::BTreeSet;

/// Probability of following a link, its complement, and number of rounds, as in the paper.
const DAMPING: f64 = 0.85;
const BASE_RANK: f64 = 0.15;
const ROUNDS: usize = 30;

/// Returns how central each of some sentences is, by a walk over those that share terms with it.
pub(super) fn ranks(sentences: &[&BTreeSet<String>]) -> Vec<f64> {
    let count = sentences.len();
    let links = links(sentences);
    let sums: Vec<f64> = links.iter().map(|row| row.iter().sum()).collect();
    let mut ranks = vec![1.0; count];
    for _ in 0..ROUNDS {
        let flow = |to: usize| -> f64 {
            (0..count).filter(|from| sums[*from] > 0.0).map(|from| links[from][to] / sums[from] * ranks[from]).sum()
        };
        ranks = (0..count).map(|to| BASE_RANK + DAMPING * flow(to)).collect();
    }
    ranks
}

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

/// Returns the share of the terms of the shorter sentence that the other one has.
pub(super) fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    one.intersection(other).count() as f64 / one.len().min(other.len()).max(1) as f64
}
