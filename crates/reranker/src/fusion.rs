//! Fuses the rankings of several retrievers, whose scores are on different scales, by rank or by normalised score.
//!
//! Reasons: `docs/design/decisions/0031-fusion-by-scores.md`.

use std::fmt;

use memory_engine_core::{Hit, RecordId, Score};
use rustc_hash::FxHashMap;

/// The hits of one retriever, best first.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The weight of the retriever.
    pub weight: f64,
    /// The hits, best first. If an id is repeated, its first rank counts.
    pub hits: Vec<Hit>,
    /// The score of an irrelevant record on the scale of this retriever. Default: `None`, the lowest score in `hits`.
    pub zero: Option<Score>,
}

impl Ranking {
    /// Returns the contribution of a hit to the fused score.
    fn contribution(&self, place: RetrieverRank, method: Method) -> f64 {
        match method {
            Method::Ranks { k } => self.weight / (k + place.rank as f64),
            Method::Scores => {
                let score_of = |hit: Option<&Hit>| hit.map_or(0.0, |hit| hit.score.value());
                let zero = self.zero.map_or_else(|| score_of(self.hits.last()), Score::value);
                let range = score_of(self.hits.first()) - zero;
                let normalised = if range > 0.0 { ((place.score.value() - zero) / range).max(0.0) } else { 1.0 };
                self.weight * normalised
            }
        }
    }
}

/// The method of fusion: by the rank of a hit, or by its score. In JSON `"scores"` or `{"ranks": {"k": 60}}`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// By rank: weight / (k + rank), with ranks from 1. Reciprocal rank fusion (RRF; Cormack, Clarke & Büttcher, 2009).
    Ranks {
        /// The smoothing constant: the larger it is, the smaller the differences between the first ranks. Usually 60.
        k: f64,
    },
    /// By score, as a share of the range from the ranking's zero to its best score: weight · (score − zero) / (best −
    /// zero). A retriever with one outstanding hit can then outweigh one whose hits score alike.
    Scores,
}

impl Method {
    /// Returns the name: `ranks` or `scores`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ranks { .. } => "ranks",
            Self::Scores => "scores",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The method and limit of a fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fusion {
    /// The method. Default: [`Method::Ranks`] with k = 60.
    pub method: Method,
    /// Maximum number of candidates. The best hit of every ranking is among them. Default: 100.
    pub candidates: usize,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { method: Method::Ranks { k: 60.0 }, candidates: 100 }
    }
}

/// A record that at least one ranking contains.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The id of the record.
    pub id: RecordId,
    /// The sum of the contributions of all rankings.
    pub score: Score,
    /// The rank and score in each ranking, in the order of the rankings; `None` for a ranking without the record.
    pub places: Vec<Option<RetrieverRank>>,
}

/// The rank and score of a record in one ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrieverRank {
    /// The rank, from 1.
    pub rank: usize,
    /// The score on the scale of the retriever.
    pub score: Score,
}

/// Returns the union of the rankings, best first, with equal scores ordered by id.
pub fn fuse(rankings: &[Ranking], fusion: Fusion) -> Vec<Fused> {
    let mut places_by_id: FxHashMap<RecordId, Vec<Option<RetrieverRank>>> = FxHashMap::default();
    for (ranking_index, ranking) in rankings.iter().enumerate() {
        for (hit_index, hit) in ranking.hits.iter().enumerate() {
            let places = places_by_id.entry(hit.id).or_insert_with(|| vec![None; rankings.len()]);
            places[ranking_index].get_or_insert(RetrieverRank { rank: hit_index + 1, score: hit.score });
        }
    }
    let mut fused: Vec<Fused> = places_by_id
        .into_iter()
        .map(|(id, places)| {
            let contribution = |(place, ranking): (&Option<RetrieverRank>, &Ranking)| {
                place.map_or(0.0, |place| ranking.contribution(place, fusion.method))
            };
            let score = Score::new(places.iter().zip(rankings).map(contribution).sum());
            Fused { id, score, places }
        })
        .collect();
    fused.sort_unstable_by(|a, b| b.score.cmp(&a.score).then(a.id.cmp(&b.id)));
    truncate(fused, fusion.candidates)
}

/// Truncates the candidates to `limit`. The best hit of every ranking is kept and replaces the last other candidate.
fn truncate(mut fused: Vec<Fused>, limit: usize) -> Vec<Fused> {
    if fused.len() <= limit {
        return fused;
    }
    let is_best_hit = |candidate: &Fused| candidate.places.iter().flatten().any(|place| place.rank == 1);
    let best_hits_beyond: Vec<Fused> = fused.split_off(limit).into_iter().filter(is_best_hit).take(limit).collect();
    for candidate in best_hits_beyond {
        if let Some(last) = fused.iter().rposition(|kept| !is_best_hit(kept)) {
            fused.remove(last);
            fused.push(candidate);
        }
    }
    fused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(n: u8) -> Vec<RecordId> {
        (0..n).map(|i| RecordId::from_bytes([i; 16])).collect()
    }

    fn ranking(weight: f64, order: &[RecordId]) -> Ranking {
        let hit = |(n, id): (usize, &RecordId)| Hit { id: *id, score: Score::new(-(n as f64)) };
        Ranking { weight, hits: order.iter().enumerate().map(hit).collect(), zero: None }
    }

    #[test]
    fn ranks_start_at_one_and_weights_scale() {
        let id = ids(2);
        let fused = fuse(&[ranking(1.0, &[id[0], id[1]]), ranking(0.5, &[id[1]])], Fusion::default());
        assert_eq!(fused[0].id, id[1]);
        assert!((fused[0].score.value() - (1.0 / 62.0 + 0.5 / 61.0)).abs() < 1e-12);
        assert!((fused[1].score.value() - 1.0 / 61.0).abs() < 1e-12);
        assert_eq!(fused[1].places[1], None);
    }

    #[test]
    fn scores_are_normalised_between_zero_and_best() {
        let id = ids(3);
        let hits =
            |scores: &[f64]| id.iter().zip(scores).map(|(id, s)| Hit { id: *id, score: Score::new(*s) }).collect();
        let keyword = Ranking { weight: 0.6, hits: hits(&[8.0, 2.0]), zero: Some(Score::new(0.0)) };
        let vector = Ranking { weight: 0.4, hits: hits(&[0.9, 0.85, 0.8]), zero: None };
        let fused = fuse(&[keyword, vector], Fusion { method: Method::Scores, candidates: 10 });
        let scores: Vec<f64> = fused.iter().map(|f| f.score.value()).collect();
        for (found, expected) in scores.iter().zip([1.0, 0.6 * 0.25 + 0.4 * 0.5, 0.0]) {
            assert!((found - expected).abs() < 1e-9, "{scores:?}");
        }
        let alike = Ranking { weight: 0.5, hits: hits(&[3.0, 3.0]), zero: None };
        assert_eq!(fuse(&[alike], Fusion { method: Method::Scores, candidates: 10 })[1].score, Score::new(0.5));
    }

    #[test]
    fn the_best_hit_of_every_ranking_is_kept() {
        let id = ids(10);
        let fused =
            fuse(&[ranking(1.0, &id[..9]), ranking(0.01, &id[9..])], Fusion { candidates: 3, ..Fusion::default() });
        assert_eq!(fused.iter().map(|f| f.id).collect::<Vec<_>>(), [id[0], id[1], id[9]]);
    }

    proptest! {
        #[test]
        fn fusion_returns_each_id_once_in_order(
            a in proptest::collection::vec(0_u8..30, 0..30),
            b in proptest::collection::vec(0_u8..30, 0..30),
        ) {
            let all = ids(30);
            let pick = |order: &[u8]| order.iter().map(|i| all[usize::from(*i)]).collect::<Vec<_>>();
            let fused = fuse(&[ranking(1.0, &pick(&a)), ranking(0.3, &pick(&b))], Fusion::default());
            let mut union: Vec<u8> = a.iter().chain(&b).copied().collect();
            union.sort_unstable();
            union.dedup();
            prop_assert_eq!(fused.len(), union.len());
            prop_assert!(fused.windows(2).all(|w| w[0].score >= w[1].score));
        }

        #[test]
        fn a_better_rank_never_lowers_the_fused_rank(n in 2_usize..20, at in 1_usize..20) {
            let at = at.min(n - 1);
            let mut order = ids(20)[..n].to_vec();
            let moved = order[at];
            let place = |order: &[RecordId]| {
                let fused = fuse(&[ranking(1.0, order), ranking(1.0, &ids(20)[..n])], Fusion::default());
                fused.iter().position(|f| f.id == moved)
            };
            let before = place(&order);
            order.swap(at, at - 1);
            prop_assert!(place(&order) <= before);
        }
    }
}
