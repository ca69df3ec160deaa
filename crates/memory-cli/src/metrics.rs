//! Retrieval metrics, given the expected records.
//!
//! The expected records (gold) of a question are a list of groups. Each group is one piece of evidence, and is found if
//! any of its records is.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// Number of ranks that are considered for the reciprocal rank.
pub(crate) const RECIPROCAL_RANK_DEPTH: usize = 100;
const NDCG_RANKS: usize = 10;

/// The metrics of one question, or their mean over several; each between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RetrievalMetrics {
    /// Number of questions.
    pub(crate) questions: usize,
    /// Share of the expected groups that are found among the first k.
    pub(crate) recall: BTreeMap<usize, f64>,
    /// Share of questions with any expected record among the first k.
    pub(crate) hit: BTreeMap<usize, f64>,
    /// Share of questions with all expected records among the first k.
    pub(crate) all: BTreeMap<usize, f64>,
    /// Discounted cumulative gain of the first ten with binary gains, divided by the best possible one (Järvelin &
    /// Kekäläinen, 2002); only the first record of a group counts.
    pub(crate) ndcg_10: f64,
    /// One divided by the rank of the first expected record; 0 if none is found.
    pub(crate) mrr: f64,
}

impl RetrievalMetrics {
    /// Computes the metrics of the retrieved ids, best first. A repeated id counts at its first rank.
    pub(crate) fn of(retrieved: &[String], gold: &[BTreeSet<String>], ks: &[usize]) -> Self {
        let mut ranks = vec![None; gold.len()];
        let mut first = None;
        let mut gain = 0.0;
        let mut seen = BTreeSet::new();
        let distinct = retrieved.iter().filter(|id| seen.insert(*id)).take(RECIPROCAL_RANK_DEPTH);
        for (id, rank) in distinct.zip(1_usize..) {
            let groups = || gold.iter().enumerate().filter(|(_, group)| group.contains(id)).map(|(n, _)| n);
            if groups().next().is_some() {
                first.get_or_insert(rank);
            }
            // A second hit of the same group adds nothing: it repeats an answer.
            let new: Vec<usize> = groups().filter(|n| ranks[*n].is_none()).collect();
            for n in &new {
                ranks[*n] = Some(rank);
            }
            if !new.is_empty() && rank <= NDCG_RANKS {
                gain += discount(rank);
            }
        }
        let groups_found_at = |k: usize| ranks.iter().flatten().filter(|rank| **rank <= k).count();
        let each = |score: &dyn Fn(usize) -> f64| ks.iter().map(|k| (*k, score(groups_found_at(*k)))).collect();
        let ideal: f64 = (1..=gold.len().min(NDCG_RANKS)).map(discount).sum();
        Self {
            questions: 1,
            recall: each(&|found| found as f64 / gold.len() as f64),
            hit: each(&|found| f64::from(found > 0)),
            all: each(&|found| f64::from(found == gold.len())),
            ndcg_10: gain / ideal,
            mrr: first.map_or(0.0, |rank| 1.0 / rank as f64),
        }
    }

    /// Returns the mean over questions.
    pub(crate) fn mean<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.questions += one.questions;
            for (sums, values) in [(&mut sum.recall, &one.recall), (&mut sum.hit, &one.hit), (&mut sum.all, &one.all)] {
                for (k, value) in values {
                    *sums.entry(*k).or_default() += value;
                }
            }
            sum.ndcg_10 += one.ndcg_10;
            sum.mrr += one.mrr;
        }
        let count = sum.questions.max(1) as f64;
        for values in [&mut sum.recall, &mut sum.hit, &mut sum.all] {
            values.values_mut().for_each(|value| *value /= count);
        }
        sum.ndcg_10 /= count;
        sum.mrr /= count;
        sum
    }
}

fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(retrieved: &[&str], gold: &[&[&str]]) -> RetrievalMetrics {
        let retrieved: Vec<String> = retrieved.iter().map(|id| (*id).to_owned()).collect();
        let gold: Vec<BTreeSet<String>> = gold.iter().map(|g| g.iter().map(|id| (*id).to_owned()).collect()).collect();
        RetrievalMetrics::of(&retrieved, &gold, &[1, 5])
    }

    #[test]
    fn metrics_match_a_worked_example() {
        let m = score(&["x", "a", "a", "b2", "b"], &[&["a"], &["b", "b2"], &["c"]]);
        assert_eq!(m.recall[&5], 2.0 / 3.0, "a at 2 and b2 at 3: a repeated id takes no rank");
        assert_eq!((m.recall[&1], m.hit[&1], m.hit[&5], m.all[&5]), (0.0, 0.0, 1.0, 0.0));
        let ideal = 1.0 + 1.0 / 3_f64.log2() + 0.5;
        assert!((m.ndcg_10 - (1.0 / 3_f64.log2() + 0.5) / ideal).abs() < 1e-12);
        assert_eq!(m.mrr, 0.5);
    }

    #[test]
    fn metrics_range_from_zero_to_one() {
        assert_eq!(score(&[], &[&["a"]]).mrr, 0.0);
        let best = score(&["a", "b"], &[&["a"], &["b"]]);
        assert_eq!((best.recall[&5], best.all[&5], best.ndcg_10, best.mrr), (1.0, 1.0, 1.0, 1.0));
        let mean = RetrievalMetrics::mean([&best, &score(&[], &[&["a"]])]);
        assert_eq!((mean.questions, mean.mrr, mean.recall[&1]), (2, 0.5, 0.25));
    }
}
