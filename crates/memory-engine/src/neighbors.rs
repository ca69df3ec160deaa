//! The answer to a hit, or what it answers, is often what is meant.

use memory_core::{Adjacent, Hit, RecordId, Score};
use rustc_hash::FxHashMap;

/// What the neighbours of the hits add.
#[derive(Debug, Default)]
pub(crate) struct Neighbors {
    /// The hits and their neighbours, best first: each with its own score and the share of its better neighbour's.
    pub(crate) ranked: Vec<Hit>,
    /// What each record got from its better neighbour.
    pub(crate) gained: FxHashMap<RecordId, Score>,
}

/// Adds to each record `share` of the score of its better neighbour among `hits`. `adjacent` is aligned with `hits`.
///
/// Only a neighbour of another voice counts: in a dialogue the two belong together, while what one person says twice in
/// a row, or a list of notes, need not.
pub(crate) fn add(hits: &[Hit], adjacent: &[Adjacent], share: f64) -> Neighbors {
    let mut gained: FxHashMap<RecordId, f64> = FxHashMap::default();
    for (hit, adjacent) in hits.iter().zip(adjacent) {
        let replies = [adjacent.previous, adjacent.next].into_iter().flatten().filter(|n| n.another_voice);
        for neighbor in replies {
            let gain = gained.entry(neighbor.id).or_insert(0.0);
            *gain = gain.max(share * hit.score.value());
        }
    }
    let mut scores: FxHashMap<RecordId, f64> = hits.iter().map(|hit| (hit.id, hit.score.value())).collect();
    for (id, gain) in &gained {
        *scores.entry(*id).or_insert(0.0) += gain;
    }
    let mut ranked: Vec<Hit> = scores.into_iter().map(|(id, score)| Hit { id, score: Score::new(score) }).collect();
    ranked.sort_unstable_by(Hit::best_first);
    Neighbors { ranked, gained: gained.into_iter().map(|(id, gain)| (id, Score::new(gain))).collect() }
}

#[cfg(test)]
mod tests {
    use memory_core::Neighbor;

    use super::*;

    #[test]
    fn a_record_gets_a_share_of_the_better_neighbour_that_it_answers_or_is_answered_by() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|n| RecordId::from_bytes([n; 16]));
        let hit = |id, score| Hit { id, score: Score::new(score) };
        let reply = |id| Some(Neighbor { id, another_voice: true });
        let same_voice = Some(Neighbor { id: d, another_voice: false });
        let adjacent = [Adjacent { previous: None, next: reply(b) }, Adjacent { previous: reply(b), next: same_voice }];
        let added = add(&[hit(a, 4.0), hit(c, 2.0)], &adjacent, 0.5);
        assert_eq!(added.ranked, [hit(a, 4.0), hit(b, 2.0), hit(c, 2.0)]);
        assert_eq!(added.gained.get(&b), Some(&Score::new(2.0)));
    }
}
