//! The ranking, in one place for every backend.

use memory_engine_core::Score;

use crate::Clause;

/// BM25 with Lucene's never-negative inverse document frequency: a record gains by each clause
/// `weight · ln(1 + (N − n + 0.5) / (n + 0.5)) · f · (k1 + 1) / (f + k1 · (1 − b + b · length / pivot))`
/// where n of N records hold the clause, and f is how often this one does (Robertson & Zaragoza, "The Probabilistic
/// Relevance Framework: BM25 and Beyond", 2009). Its score is the sum, as a part of what a record of the pivot's length
/// would gain that holds every clause once. So it says about which part of what was asked for a record holds,
/// whatever the question; repetition and shortness add to it, up to k1 + 1 times. A word
/// that no record holds counts among what is missing; a clause of a lesser weight than 1 is a guess at a word, which counts
/// only when some record bears it out.
///
/// The usual pivot is the mean length of all records. Here it is a fixed number of terms: what a length means does not
/// depend on the others. Among turns of ten terms, twice as long is no dilution; among pasted pages and their answers it
/// is. Measured, the mean loses on both: `docs/RETRIEVAL.md` has the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How slowly repetitions stop counting.
    pub k1: f64,
    /// How much a long record has to make up for: 0 nothing, 1 all of its length.
    pub b: f64,
    /// The length, in terms, of a record that its length neither helps nor harms.
    pub pivot: f64,
}

impl Default for Bm25 {
    /// The values of `docs/RETRIEVAL.md`.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6, pivot: 40.0 }
    }
}

/// A record within the searched scope that holds at least one clause.
#[derive(Debug, Clone)]
pub struct Candidate<K> {
    /// What it is called.
    pub key: K,
    /// For each clause, how often its terms occur, each occurrence counted by the term's weight.
    pub frequencies: Vec<f64>,
    /// How many terms it has.
    pub length: u32,
    /// Whether the query's filter lets it pass. One that does not still counts in the statistics.
    pub admitted: bool,
}

impl Bm25 {
    /// Scores the admitted candidates: best first, equal ones by key, at most `limit`.
    ///
    /// `documents` is how many records the searched scope has; `candidates` must be all of those that hold a clause: how
    /// rare a clause is, is counted here.
    pub fn rank<K: Ord + Copy>(
        &self,
        documents: u64,
        clauses: &[Clause],
        candidates: &[Candidate<K>],
        limit: usize,
    ) -> Vec<(K, Score)> {
        let mut holders = vec![0_u64; clauses.len()];
        for candidate in candidates {
            for (n, f) in holders.iter_mut().zip(&candidate.frequencies) {
                *n += u64::from(*f > 0.0);
            }
        }
        let rarity = Rarity::of(documents, clauses, &holders);
        let mut ranked: Vec<(K, Score)> = candidates
            .iter()
            .filter(|candidate| candidate.admitted)
            .map(|candidate| {
                let norm = self.norm(candidate.length);
                let gains = candidate.frequencies.iter().zip(&rarity.each).filter(|(f, _)| **f > 0.0);
                (candidate.key, rarity.score(gains.map(|(f, idf)| self.gain(*idf, *f, norm)).sum()))
            })
            .collect();
        let better = |a: &(K, Score), b: &(K, Score)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if ranked.len() > limit && limit > 0 {
            ranked.select_nth_unstable_by(limit - 1, better);
        }
        ranked.truncate(limit);
        ranked.sort_unstable_by(better);
        ranked
    }

    /// What the length of a record does to its gains.
    fn norm(&self, length: u32) -> f64 {
        self.k1 * (1.0 - self.b + self.b * f64::from(length) / self.pivot)
    }

    /// What a record of this length gains by a clause of this rarity that it holds so often; nothing, when it does not.
    pub(crate) fn gain_of(&self, rarity: f64, frequency: f64, length: u32) -> f64 {
        if frequency > 0.0 { self.gain(rarity, frequency, self.norm(length)) } else { 0.0 }
    }

    fn gain(&self, rarity: f64, frequency: f64, norm: f64) -> f64 {
        rarity * frequency * (self.k1 + 1.0) / (frequency + norm)
    }
}

/// How much each clause of a query counts within a scope.
#[derive(Debug)]
pub(crate) struct Rarity {
    /// The clauses' weights, each by how rare it is.
    pub(crate) each: Vec<f64>,
    whole: f64,
}

impl Rarity {
    /// For clauses that so many of all the documents hold.
    pub(crate) fn of(documents: u64, clauses: &[Clause], holders: &[u64]) -> Self {
        let documents = documents.max(1) as f64;
        let each: Vec<f64> = holders
            .iter()
            .zip(clauses)
            .map(|(n, clause)| clause.weight * (1.0 + (documents - *n as f64 + 0.5).max(0.0) / (*n as f64 + 0.5)).ln())
            .collect();
        let asked = each.iter().zip(holders).zip(clauses).filter(|((_, n), clause)| **n > 0 || clause.weight >= 1.0);
        let whole = asked.map(|((rarity, _), _)| rarity).sum::<f64>().max(f64::MIN_POSITIVE);
        Self { each, whole }
    }

    /// A record's gains as a part of what there was to gain.
    pub(crate) fn score(&self, gains: f64) -> Score {
        Score::new(gains / self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(key: u32, frequency: f64, length: u32) -> Candidate<u32> {
        Candidate { key, frequencies: vec![frequency], length, admitted: true }
    }

    #[test]
    fn agrees_with_the_formula_worked_by_hand() {
        // f = 2, twice as long as the pivot, against f = 1, as long as it. Then the same with a second clause that none of
        // N = 4 records holds: the rarity is ln(1 + 2.5 / 2.5) of one and ln(1 + 4.5 / 0.5) of the other.
        let candidates = [candidate(1, 2.0, 80), candidate(2, 1.0, 40)];
        let ranked = Bm25::default().rank(4, &[Clause::term("x")], &candidates, 9);
        let both = Bm25::default().rank(
            4,
            &[Clause::term("x"), Clause::term("y")],
            &candidates.map(|c| Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c }),
            9,
        );
        let part = 2.0_f64.ln() / (2.0_f64.ln() + 10.0_f64.ln());
        let expected = [(1, 2.0 * 2.2 / (2.0 + 1.2 * 1.6)), (2, 1.0)];
        for (n, (wanted, value)) in expected.into_iter().enumerate() {
            assert_eq!((ranked[n].0, both[n].0), (wanted, wanted));
            assert!((ranked[n].1.value() - value).abs() < 1e-6, "{ranked:?}");
            assert!((both[n].1.value() - value * part).abs() < 1e-6, "{both:?}");
        }
    }

    #[test]
    fn a_filtered_candidate_counts_but_is_not_given() {
        let mut hidden = candidate(1, 1.0, 3);
        hidden.admitted = false;
        let both = |c: Candidate<u32>| Candidate { frequencies: vec![c.frequencies[0], 0.0], ..c };
        let clauses = [Clause::term("x"), Clause::term("y")];
        let with = Bm25::default().rank(3, &clauses, &[both(hidden), both(candidate(2, 1.0, 3))], 9);
        let without = Bm25::default().rank(3, &clauses, &[both(candidate(2, 1.0, 3))], 9);
        assert_eq!(with.len(), 1);
        assert!(with[0].1 < without[0].1, "a term that two records hold is less rare");
    }

    #[test]
    fn ties_go_by_key_and_the_limit_holds() {
        let all: Vec<_> = (0..10).rev().map(|key| candidate(key, 1.0, 3)).collect();
        let ranked = Bm25::default().rank(10, &[Clause::term("x")], &all, 3);
        assert_eq!(ranked.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(Bm25::default().rank(0, &[Clause::term("x")], &all, 0).is_empty());
    }
}
