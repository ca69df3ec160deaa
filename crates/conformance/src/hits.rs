//! Comparing what two searches found.

use std::collections::BTreeMap;

use memory_engine_core::{Hit, RecordId};

use crate::cases::{Verdict, ensure};

/// Maximum difference of two equal keyword scores: the order of additions.
pub(crate) const KEYWORD_TOLERANCE: f64 = 1e-9;
/// Maximum difference of two equal cosines of single-precision vectors.
pub(crate) const VECTOR_TOLERANCE: f64 = 1e-5;

/// Checks that `found` equals the first `limit` hits of `all`, the hits of the reference in order.
///
/// Where the yardstick's scores lie within the tolerance of each other their order is left open, unless the found
/// scores are equal: then the lower id comes first.
pub(crate) fn same_hits(found: &[Hit], all: &[Hit], limit: usize, tolerance: f64) -> Verdict {
    let shown = || format!("\n found {}\n of    {}", show(found), show(all));
    ensure!(found.len() == all.len().min(limit), "it found {} of {}{}", found.len(), all.len().min(limit), shown());
    ensure!(found.is_sorted_by(|a, b| Hit::best_first(a, b).is_le()), "best first, equal ones by id{}", shown());
    let mut left: BTreeMap<RecordId, Vec<f64>> = BTreeMap::new();
    for hit in all {
        left.entry(hit.id).or_default().push(hit.score.value());
    }
    for (place, (hit, expected)) in found.iter().zip(all).enumerate() {
        let near = |score: &f64| (score - hit.score.value()).abs() <= tolerance;
        ensure!(near(&expected.score.value()), "another score at place {place}{}", shown());
        let scores = left.entry(hit.id).or_default();
        let Some(own) = scores.iter().position(near) else {
            return Err(format!("{} has another score, or comes twice{}", hit.id, shown()).into());
        };
        scores.swap_remove(own);
    }
    Ok(())
}

fn show(hits: &[Hit]) -> String {
    let shown = hits.iter().take(20).map(|hit| format!("{}…={:.12}", &hit.id.to_string()[24..], hit.score.value()));
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use memory_engine_core::Score;

    use super::*;
    use crate::given::id;

    fn hits<const N: usize>(of: [(u8, f64); N]) -> Vec<Hit> {
        of.map(|(number, score)| Hit { id: id(number), score: Score::new(score) }).to_vec()
    }

    #[test]
    fn near_ties_may_change_places_and_nothing_else_may() {
        let all = hits([(1, 3.0), (2, 2.0 + 1e-12), (3, 2.0), (4, 1.0)]);
        let same = |found: &[Hit], limit| same_hits(found, &all, limit, 1e-9).is_ok();
        assert!(same(&all, 4) && same(&all, 9) && same(&all[..2], 2));
        assert!(same(&hits([(1, 3.0), (3, 2.0 + 2e-12), (2, 2.0)]), 3));
        assert!(!same(&all[..3], 4), "one is missing");
        assert!(!same(&hits([(1, 3.0), (3, 2.0), (2, 2.0), (4, 1.0)]), 4), "equal scores are ordered by id");
        assert!(!same(&hits([(2, 3.0), (1, 2.0), (3, 2.0), (4, 1.0)]), 4), "the scores have changed owners");
        assert!(!same(&hits([(1, 3.0), (2, 2.0), (2, 2.0), (4, 1.0)]), 4), "one comes twice");
    }
}
