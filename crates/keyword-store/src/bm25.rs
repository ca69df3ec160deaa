//! The ranking, in one place for every backend.

use memory_core::Score;

use crate::Clause;

/// BM25 with Lucene's never-negative inverse document frequency: the score of a record is the sum over the clauses of
/// `weight · ln(1 + (N − n + 0.5) / (n + 0.5)) · f · (k1 + 1) / (f + k1 · (1 − b + b · length / mean length))`
/// where n of N records hold the clause, and f is how often this one does (Robertson & Zaragoza, "The Probabilistic
/// Relevance Framework: BM25 and Beyond", 2009).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How slowly repetitions stop counting.
    pub k1: f64,
    /// How much a long record has to make up for: 0 nothing, 1 all of its length.
    pub b: f64,
}

impl Default for Bm25 {
    /// Turns of a conversation are short, and a longer one is seldom padded: a little less is made of repetition and of
    /// length than is usual for documents. `docs/RETRIEVAL.md` has the figures.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6 }
    }
}

/// All records within the searched scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Corpus {
    /// How many there are.
    pub documents: u64,
    /// How many terms they have together.
    pub length: u64,
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
    /// `candidates` must be all records of the corpus that hold a clause: how rare a clause is, is counted here.
    pub fn rank<K: Ord + Copy>(
        &self,
        corpus: Corpus,
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
        let documents = corpus.documents.max(1) as f64;
        let mean_length = (corpus.length as f64 / documents).max(1.0);
        let rarity: Vec<f64> = holders
            .iter()
            .zip(clauses)
            .map(|(n, clause)| clause.weight * (1.0 + (documents - *n as f64 + 0.5).max(0.0) / (*n as f64 + 0.5)).ln())
            .collect();
        let mut ranked: Vec<(K, Score)> = candidates
            .iter()
            .filter(|candidate| candidate.admitted)
            .map(|candidate| {
                let norm = self.k1 * (1.0 - self.b + self.b * f64::from(candidate.length) / mean_length);
                let gains = candidate.frequencies.iter().zip(&rarity).filter(|(f, _)| **f > 0.0);
                (candidate.key, Score::new(gains.map(|(f, idf)| idf * f * (self.k1 + 1.0) / (f + norm)).sum()))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(key: u32, frequency: f64, length: u32) -> Candidate<u32> {
        Candidate { key, frequencies: vec![frequency], length, admitted: true }
    }

    #[test]
    fn agrees_with_the_formula_worked_by_hand() {
        // N = 4, n = 2, mean length 5: the rarity is ln(1 + 2.5 / 2.5). f = 2, length 10 against f = 1, length 5.
        let corpus = Corpus { documents: 4, length: 20 };
        let candidates = [candidate(1, 2.0, 10), candidate(2, 1.0, 5)];
        let ranked = Bm25::default().rank(corpus, &[Clause::term("x")], &candidates, 9);
        let rarity = 2.0_f64.ln();
        let expected = [(1, rarity * 2.0 * 2.2 / (2.0 + 1.2 * 1.6)), (2, rarity * 2.2 / 2.2)];
        for ((key, score), (wanted, value)) in ranked.iter().zip(expected) {
            assert_eq!(*key, wanted);
            assert!((score.value() - value).abs() < 1e-6, "{score}");
        }
    }

    #[test]
    fn a_filtered_candidate_counts_but_is_not_given() {
        let corpus = Corpus { documents: 3, length: 9 };
        let mut hidden = candidate(1, 1.0, 3);
        hidden.admitted = false;
        let with = Bm25::default().rank(corpus, &[Clause::term("x")], &[hidden, candidate(2, 1.0, 3)], 9);
        let without = Bm25::default().rank(corpus, &[Clause::term("x")], &[candidate(2, 1.0, 3)], 9);
        assert_eq!(with.len(), 1);
        assert!(with[0].1 < without[0].1, "a term that two records hold is less rare");
    }

    #[test]
    fn ties_go_by_key_and_the_limit_holds() {
        let all: Vec<_> = (0..10).rev().map(|key| candidate(key, 1.0, 3)).collect();
        let ranked = Bm25::default().rank(Corpus { documents: 10, length: 30 }, &[Clause::term("x")], &all, 3);
        assert_eq!(ranked.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(Bm25::default().rank(Corpus::default(), &[Clause::term("x")], &all, 0).is_empty());
    }
}
