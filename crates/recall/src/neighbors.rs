//! Neighbors of hits: the reply to a hit, or the question that it replies to, is often what is meant.
//!
//! Reasons: `docs/design/decisions/0029-neighbour-share.md`.

use memory_engine_core::{Adjacent, Hit, Neighbor, RecordId, Result, Score};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    candidate::Candidate,
    hit::{Retriever, RetrieverHit},
    run::RecallRun,
};

/// Maximum number of candidates whose neighbors are looked up.
const MAX_NEIGHBORED: usize = 200;

/// Two adjacent records of different speakers, the earlier one first: one of them answers the other. Two turns of one
/// speaker, or two notes, need not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NeighborPair(pub(crate) RecordId, pub(crate) RecordId);

impl RecallRun<'_> {
    /// Returns the pairs of adjacent records of different speakers that the best candidates belong to. The nearest
    /// vectors of an embedder without semantics have no neighbors: they are guesses.
    pub(crate) async fn neighbor_pairs(&self, candidates: &[Candidate]) -> Result<Vec<NeighborPair>> {
        let by_semantics = self.plan.has_semantics();
        let found = candidates.iter().filter(|c| by_semantics || !c.is_found_by_vector_only());
        let ids: Vec<RecordId> = found.take(MAX_NEIGHBORED).map(|c| c.id).collect();
        let adjacent = self.scope.adjacent(&self.parts.store, &ids).await?;
        Ok(pairs(&ids, &adjacent))
    }
}

/// Returns each pair of neighbors once. `adjacent` is aligned with `ids`.
fn pairs(ids: &[RecordId], adjacent: &[Adjacent]) -> Vec<NeighborPair> {
    let mut pairs = Vec::new();
    let mut known = FxHashSet::default();
    for (id, adjacent) in ids.iter().zip(adjacent) {
        let of_another_voice = |neighbor: Option<Neighbor>| neighbor.filter(|neighbor| neighbor.another_voice);
        let before = of_another_voice(adjacent.previous).map(|previous| NeighborPair(previous.id, *id));
        let after = of_another_voice(adjacent.next).map(|next| NeighborPair(*id, next.id));
        pairs.extend([before, after].into_iter().flatten().filter(|pair| known.insert(*pair)));
    }
    pairs
}

/// Adds the gains to the candidates. A neighbor that no retriever found becomes a candidate.
pub(crate) fn add_gains(gains: Vec<Hit>, candidates: &mut Vec<Candidate>) {
    let places: FxHashMap<RecordId, usize> = candidates.iter().enumerate().map(|(n, c)| (c.id, n)).collect();
    for (gain, rank) in gains.into_iter().zip(1..) {
        let found = RetrieverHit { retriever: Retriever::Neighbor, rank, score: gain.score };
        match places.get(&gain.id) {
            Some(n) => {
                candidates[*n].score += gain.score.value();
                candidates[*n].found_by.push(found);
            }
            None => {
                let score = gain.score.value();
                candidates.push(Candidate { score, found_by: vec![found], ..Candidate::neighbor(gain.id) });
            }
        }
    }
    candidates.sort_unstable_by(Candidate::best_first);
}

/// Returns what each record gains by its neighbors, best first: `share` of the score of the better one.
pub(crate) fn gains(candidates: &[Candidate], pairs: &[NeighborPair], share: f64) -> Vec<Hit> {
    if share <= 0.0 {
        return Vec::new();
    }
    let scores: FxHashMap<RecordId, f64> = candidates.iter().map(|c| (c.id, c.score)).collect();
    let best = best_neighbors(pairs, &scores);
    let mut gains: Vec<Hit> =
        best.into_iter().map(|(id, score)| Hit { id, score: Score::new(share * score) }).collect();
    gains.sort_unstable_by(Hit::best_first);
    gains
}

/// Returns the score of the better neighbor of each record that has a neighbor with a score.
pub(crate) fn best_neighbors(pairs: &[NeighborPair], scores: &FxHashMap<RecordId, f64>) -> FxHashMap<RecordId, f64> {
    let mut best: FxHashMap<RecordId, f64> = FxHashMap::default();
    for NeighborPair(a, b) in pairs {
        for (id, neighbor) in [(a, b), (b, a)] {
            if let Some(score) = scores.get(neighbor) {
                let entry = best.entry(*id).or_insert(0.0);
                *entry = entry.max(*score);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gains_from_the_better_neighbor_of_another_speaker() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|n| RecordId::from_bytes([n; 16]));
        let candidate = |id, score| Candidate { score, ..Candidate::neighbor(id) };
        let reply = |id| Some(Neighbor { id, another_voice: true });
        let same_voice = Some(Neighbor { id: d, another_voice: false });
        let adjacent = [
            Adjacent { previous: None, next: reply(b) },
            Adjacent { previous: reply(b), next: same_voice },
            Adjacent { previous: reply(a), next: reply(c) },
        ];
        let pairs = pairs(&[a, c, b], &adjacent);
        assert_eq!(pairs, [NeighborPair(a, b), NeighborPair(b, c)]);
        let gains = gains(&[candidate(a, 4.0), candidate(c, 2.0), candidate(b, 1.0)], &pairs, 0.5);
        let hit = |id, score| Hit { id, score: Score::new(score) };
        assert_eq!(gains, [hit(b, 2.0), hit(a, 0.5), hit(c, 0.5)]);
    }
}
