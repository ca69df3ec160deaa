//! The answer to a hit, or what it answers, is often what is meant.

use memory_core::{Adjacent, Hit, RecordId, Score};
use rustc_hash::FxHashMap;

/// What each record gains from its better neighbour among `hits`: `share` of that one's score. `adjacent` is aligned with
/// `hits`. Best first.
///
/// Only a neighbour of another voice counts: in a dialogue the two belong together, while what one person says twice in
/// a row, or a list of notes, need not.
pub(crate) fn gains(hits: &[Hit], adjacent: &[Adjacent], share: f64) -> Vec<Hit> {
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
    use memory_core::Neighbor;

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
