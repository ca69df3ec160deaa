//! Bringing several rankings together whose scores mean different things: by rank, or by where a score lies in its
//! list.

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
    /// The score that means nothing on this arm's scale; the lowest that it found, when there is no such score.
    pub zero: Option<Score>,
}

impl Ranking {
    fn part(&self, place: RetrieverRank, method: Method) -> f64 {
        match method {
            Method::Ranks { k } => self.weight / (k + place.rank as f64),
            Method::Scores => {
                let end = |hit: Option<&Hit>| hit.map_or(0.0, |hit| hit.score.value());
                let zero = self.zero.map_or_else(|| end(self.hits.last()), Score::value);
                let whole = end(self.hits.first()) - zero;
                self.weight * if whole > 0.0 { ((place.score.value() - zero) / whole).max(0.0) } else { 1.0 }
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
        /// The larger it is, the less the first ranks stand out. Usually 60.
        k: f64,
    },
    /// By score, as a share of the range from the ranking's zero to its best score: weight · (score − zero) / (best −
    /// zero). A retriever with one outstanding hit can then outweigh one whose hits score alike.
    Scores,
}

impl Method {
    /// The name: `ranks` or `scores`.
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
    /// The method.
    pub method: Method,
    /// Maximum number of candidates. The best hit of every ranking is among them.
    pub candidates: usize,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { method: Method::Ranks { k: 60.0 }, candidates: 100 }
    }
}

/// A record that at least one ranking holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The id of the record.
    pub id: RecordId,
    /// The sum of what it counts for in each ranking.
    pub score: Score,
    /// Its place in each ranking, in their order.
    pub places: Vec<Option<RetrieverRank>>,
}

/// A place in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrieverRank {
    /// Counted from 1.
    pub rank: usize,
    /// The ranking's own score.
    pub score: Score,
}

/// The union of the rankings, best first, equal ones by id.
pub fn fuse(rankings: &[Ranking], fusion: Fusion) -> Vec<Fused> {
    let mut rows: FxHashMap<RecordId, Vec<Option<RetrieverRank>>> = FxHashMap::default();
    for (i, ranking) in rankings.iter().enumerate() {
        for (n, hit) in ranking.hits.iter().enumerate() {
            let places = rows.entry(hit.id).or_insert_with(|| vec![None; rankings.len()]);
            places[i].get_or_insert(RetrieverRank { rank: n + 1, score: hit.score });
        }
    }
    let mut fused: Vec<Fused> = rows
        .into_iter()
        .map(|(id, places)| {
            let share = |(place, ranking): (&Option<RetrieverRank>, &Ranking)| {
                place.map_or(0.0, |p| ranking.part(p, fusion.method))
            };
            Fused { id, score: Score::new(places.iter().zip(rankings).map(share).sum()), places }
        })
        .collect();
    fused.sort_unstable_by(|a, b| b.score.cmp(&a.score).then(a.id.cmp(&b.id)));
    cut(fused, fusion.candidates)
}

/// The first `limit`, but with the best hit of every ranking among them, at the expense of the last ones.
fn cut(mut fused: Vec<Fused>, limit: usize) -> Vec<Fused> {
    if fused.len() <= limit {
        return fused;
    }
    let is_best = |f: &Fused| f.places.iter().flatten().any(|place| place.rank == 1);
    let late: Vec<Fused> = fused.split_off(limit).into_iter().filter(is_best).take(limit).collect();
    for candidate in late {
        if let Some(last) = fused.iter().rposition(|f| !is_best(f)) {
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
    fn ranks_count_from_one_and_weights_scale() {
        let id = ids(2);
        let fused = fuse(&[ranking(1.0, &[id[0], id[1]]), ranking(0.5, &[id[1]])], Fusion::default());
        assert_eq!(fused[0].id, id[1]);
        assert!((fused[0].score.value() - (1.0 / 62.0 + 0.5 / 61.0)).abs() < 1e-12);
        assert!((fused[1].score.value() - 1.0 / 61.0).abs() < 1e-12);
        assert_eq!(fused[1].places[1], None);
    }

    #[test]
    fn scores_count_by_their_part_of_the_way_from_zero_to_best() {
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
    fn the_best_hit_of_a_light_ranking_keeps_a_place() {
        let id = ids(10);
        let fused =
            fuse(&[ranking(1.0, &id[..9]), ranking(0.01, &id[9..])], Fusion { candidates: 3, ..Fusion::default() });
        assert_eq!(fused.iter().map(|f| f.id).collect::<Vec<_>>(), [id[0], id[1], id[9]]);
    }

    proptest! {
        #[test]
        fn the_union_comes_out_once_each_in_order(a in proptest::collection::vec(0_u8..30, 0..30), b in proptest::collection::vec(0_u8..30, 0..30)) {
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
        fn moving_up_in_a_ranking_never_costs_a_place(n in 2_usize..20, at in 1_usize..20) {
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
