//! Neighbors of hits: the reply to a hit, or the question that it replies to, is often what is meant.

use memory_engine_core::{Adjacent, Hit, RecordId, Result, Score};
use rustc_hash::FxHashMap;

use crate::{
    candidate::Candidate,
    hit::{Retriever, RetrieverHit},
    run::RecallRun,
};

/// Maximum number of candidates whose neighbors are looked up.
const MAX_NEIGHBORED: usize = 200;

impl RecallRun<'_> {
    /// Returns what the neighbors of the best candidates gain by them, best first.
    pub(crate) async fn neighbor_gains(&self, share: f64, candidates: &[Candidate]) -> Result<Vec<Hit>> {
        let best = candidates.iter().take(MAX_NEIGHBORED);
        let hits: Vec<Hit> = best.map(|c| Hit { id: c.id, score: Score::new(c.score) }).collect();
        let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
        let adjacent = self.scope.adjacent(&self.parts.store, &ids).await?;
        Ok(gains(&hits, &adjacent, share))
    }
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
                let (score, found_by) = (gain.score.value(), vec![found]);
                candidates.push(Candidate {
                    id: gain.id,
                    score,
                    found_by,
                    reranked: None,
                    word_score: None,
                    similarity: None,
                });
            }
        }
    }
    candidates.sort_unstable_by(Candidate::best_first);
}

/// Each record gains `share` of the score of its better neighbor among `hits`. `adjacent` is aligned with `hits`. Best
/// first.
///
/// Only a neighbor of another speaker counts: the two turns of an exchange belong together, two turns of one speaker or
/// two notes need not.
fn gains(hits: &[Hit], adjacent: &[Adjacent], share: f64) -> Vec<Hit> {
    let mut gains: FxHashMap<RecordId, f64> = FxHashMap::default();
    for (hit, adjacent) in hits.iter().zip(adjacent) {
        let replies = [adjacent.previous, adjacent.next].into_iter().flatten().filter(|n| n.another_voice);
        for neighbor in replies {
            let gain = gains.entry(neighbor.id).or_insert(0.0);
            *gain = gain.max(share * hit.score.value());
        }
    }
    let mut gains: Vec<Hit> = gains.into_iter().map(|(id, gain)| Hit { id, score: Score::new(gain) }).collect();
    gains.sort_unstable_by(Hit::best_first);
    gains
}

#[cfg(test)]
mod tests {
    use memory_engine_core::Neighbor;

    use super::*;

    #[test]
    fn a_record_gains_from_the_better_neighbour_that_it_answers_or_is_answered_by() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|n| RecordId::from_bytes([n; 16]));
        let hit = |id, score| Hit { id, score: Score::new(score) };
        let reply = |id| Some(Neighbor { id, another_voice: true });
        let same_voice = Some(Neighbor { id: d, another_voice: false });
        let adjacent = [
            Adjacent { previous: None, next: reply(b) },
            Adjacent { previous: reply(b), next: same_voice },
            Adjacent { previous: reply(a), next: reply(c) },
        ];
        let gains = gains(&[hit(a, 4.0), hit(c, 2.0), hit(b, 1.0)], &adjacent, 0.5);
        assert_eq!(gains, [hit(b, 2.0), hit(a, 0.5), hit(c, 0.5)]);
    }
}
