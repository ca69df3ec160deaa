//! The ranking, in one place for every backend.

use memory_engine_core::Score;

use crate::store::Clause;

/// BM25 with Lucene's non-negative inverse document frequency. Each clause contributes `weight · ln(1 + (N − n + 0.5)
/// / (n + 0.5)) · f · (k1 + 1) / (f + k1 · (1 − b + b · length / pivot))`, where n of N records contain the clause,
/// and f is its frequency in the record (Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and
/// Beyond", 2009). The score is the sum, divided by that of a record of the pivot's length that contains every clause
/// once. It thus states the share of the query that a record contains, for any query; repetition and brevity increase
/// it, up to a factor of k1 + 1. A word that no record contains counts as missing. A clause with a weight below 1 is
/// an alternative for a word, and counts only if some record contains it.
///
/// The usual pivot is the mean length of all records. Here it is a fixed number of terms: what a length means does not
/// depend on the others. Among turns of ten terms, twice as long is no dilution; among pasted pages and their answers
/// it is. Measured, the mean loses on both: `docs/design/retrieval.md` has the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Saturation of the term frequency: with higher values, repetitions count longer. Default: 1.2.
    pub k1: f64,
    /// Length normalisation: 0 for none, 1 for the full length. Default: 0.6.
    pub b: f64,
    /// The length, in terms, of a record that its length neither helps nor harms.
    pub pivot: f64,
}

impl Default for Bm25 {
    /// The values of `docs/design/retrieval.md`.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6, pivot: 40.0 }
    }
}

/// A record within the searched scope that holds at least one clause.
#[derive(Debug, Clone)]
pub struct Candidate<K> {
    /// The key of the record.
    pub key: K,
    /// For each clause, how often its terms occur, each occurrence counted by the term's weight.
    pub frequencies: Vec<f64>,
    /// Number of terms of the record.
    pub length: u32,
    /// True if it passes the filter of the query. A record that does not still counts in the statistics.
    pub admitted: bool,
}

impl Bm25 {
    /// Scores the admitted candidates: best first, equal ones by key, at most `limit`.
    ///
    /// `documents` is how many records the searched scope has; `candidates` must be all of those that hold a clause:
    /// how rare a clause is, is counted here.
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
        let idf = IdfTable::new(documents, clauses, &holders);
        let mut ranked: Vec<(K, Score)> = candidates
            .iter()
            .filter(|candidate| candidate.admitted)
            .map(|candidate| {
                let norm = self.norm(candidate.length);
                let held = candidate.frequencies.iter().zip(idf.values()).filter(|(f, _)| **f > 0.0);
                (candidate.key, idf.normalise(held.map(|(f, idf)| self.contribution(*idf, *f, norm)).sum()))
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

    /// Length normalisation: the term frequency at which a term reaches half of its possible score.
    #[inline]
    fn norm(&self, length: u32) -> f64 {
        self.k1 * (1.0 - self.b + self.b * f64::from(length) / self.pivot)
    }

    /// Returns the score that a term adds to a document of this length; 0 if the document does not hold the term.
    #[inline]
    pub(crate) fn term_score(&self, idf: f64, frequency: f64, length: u32) -> f64 {
        if frequency > 0.0 { self.contribution(idf, frequency, self.norm(length)) } else { 0.0 }
    }

    #[inline]
    fn contribution(&self, idf: f64, frequency: f64, norm: f64) -> f64 {
        idf * frequency * (self.k1 + 1.0) / (frequency + norm)
    }

    /// Returns an upper bound of the term score, for any frequency and length.
    pub(crate) fn max_term_score(&self, idf: f64) -> f64 {
        (idf * (self.k1 + 1.0)).max(0.0)
    }
}

/// The weighted inverse document frequency of each clause of a query, within the searched scope.
#[derive(Debug)]
pub(crate) struct IdfTable {
    idf: Vec<f64>,
    /// Score that counts as 1: the sum over the clauses that a document could hold.
    full_score: f64,
}

impl IdfTable {
    /// Computes the table from the number of documents in all and of those that hold each clause.
    pub(crate) fn new(documents: u64, clauses: &[Clause], document_frequencies: &[u64]) -> Self {
        let documents = documents.max(1) as f64;
        let mut idf = Vec::with_capacity(clauses.len());
        let mut full_score = 0.0;
        for (clause, frequency) in clauses.iter().zip(document_frequencies) {
            let holders = *frequency as f64;
            let value = clause.weight * (1.0 + (documents - holders + 0.5).max(0.0) / (holders + 0.5)).ln();
            // A clause of a weight below 1 is a guess, and counts only if some document holds it.
            if *frequency > 0 || clause.weight >= 1.0 {
                full_score += value;
            }
            idf.push(value);
        }
        Self { idf, full_score: full_score.max(f64::MIN_POSITIVE) }
    }

    /// Returns the weighted inverse document frequency of a clause.
    #[inline]
    pub(crate) fn of(&self, clause: usize) -> f64 {
        self.idf[clause]
    }

    /// Returns the values of all clauses, in the order of the query.
    pub(crate) fn values(&self) -> &[f64] {
        &self.idf
    }

    /// Returns true if no clause lowers the score of a document that holds it.
    pub(crate) fn is_non_negative(&self) -> bool {
        self.idf.iter().all(|idf| *idf >= 0.0)
    }

    /// Converts the sum of a document's term scores to a score.
    pub(crate) fn normalise(&self, sum: f64) -> Score {
        Score::new(sum / self.full_score)
    }
}

#[cfg(test)]
mod tests;
