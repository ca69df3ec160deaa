//! Compares the hits of two searches.

use std::collections::BTreeMap;

use memory_engine_core::{Hit, RecordId};

use crate::cases::{CaseResult, ensure};

/// Maximum difference of keyword scores that count as equal. Sums in another order differ by rounding.
pub(crate) const KEYWORD_TOLERANCE: f64 = 1e-9;
/// Maximum difference of cosines that count as equal, for single-precision vectors.
pub(crate) const VECTOR_TOLERANCE: f64 = 1e-5;

/// Checks that `found` equals the first `limit` hits of `all`, the ordered hits of the reference.
///
/// Hits whose reference scores differ by at most `tolerance` may be in any order. Found hits with exactly equal scores
/// must be ordered by id.
pub(crate) fn check_hits(found: &[Hit], all: &[Hit], limit: usize, tolerance: f64) -> CaseResult {
    let details = || format!("\n found    {}\n expected {}", show(found), show(all));
    ensure!(
        found.len() == all.len().min(limit),
        "{} hits instead of {}{}",
        found.len(),
        all.len().min(limit),
        details()
    );
    ensure!(
        found.is_sorted_by(|a, b| Hit::best_first(a, b).is_le()),
        "hits are not ordered by descending score and then by id{}",
        details()
    );
    let mut remaining: BTreeMap<RecordId, Vec<f64>> = BTreeMap::new();
    for hit in all {
        remaining.entry(hit.id).or_default().push(hit.score.value());
    }
    for (position, (hit, expected)) in found.iter().zip(all).enumerate() {
        let is_equal = |score: &f64| (score - hit.score.value()).abs() <= tolerance;
        ensure!(is_equal(&expected.score.value()), "wrong score at position {position}{}", details());
        let scores = remaining.entry(hit.id).or_default();
        let Some(index) = scores.iter().position(is_equal) else {
            return Err(format!("{} has a wrong score or occurs twice{}", hit.id, details()).into());
        };
        scores.swap_remove(index);
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
    use crate::fixtures::id;

    fn hits<const N: usize>(numbered: [(u8, f64); N]) -> Vec<Hit> {
        numbered.map(|(number, score)| Hit { id: id(number), score: Score::new(score) }).to_vec()
    }

    #[test]
    fn only_near_ties_may_be_reordered() {
        let all = hits([(1, 3.0), (2, 2.0 + 1e-12), (3, 2.0), (4, 1.0)]);
        let is_accepted = |found: &[Hit], limit| check_hits(found, &all, limit, 1e-9).is_ok();
        assert!(is_accepted(&all, 4) && is_accepted(&all, 9) && is_accepted(&all[..2], 2));
        assert!(is_accepted(&hits([(1, 3.0), (3, 2.0 + 2e-12), (2, 2.0)]), 3));
        assert!(!is_accepted(&all[..3], 4), "one is missing");
        assert!(!is_accepted(&hits([(1, 3.0), (3, 2.0), (2, 2.0), (4, 1.0)]), 4), "equal scores are ordered by id");
        assert!(!is_accepted(&hits([(2, 3.0), (1, 2.0), (3, 2.0), (4, 1.0)]), 4), "the scores are swapped");
        assert!(!is_accepted(&hits([(1, 3.0), (2, 2.0), (2, 2.0), (4, 1.0)]), 4), "one occurs twice");
    }
}
