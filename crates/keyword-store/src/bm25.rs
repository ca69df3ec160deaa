//! BM25 ranking, shared by all backends so that they return the same scores.
//!
//! Reasons: `docs/design/decisions/0002-bm25-in-rust.md` and
//! `docs/design/decisions/0007-fixed-length-pivot.md`.

use memory_engine_core::Score;

use crate::store::Clause;

/// BM25 with Lucene's non-negative inverse document frequency and a fixed pivot length.
///
/// A clause adds `weight · idf · tf` to the score of a record, with
/// `idf = ln(1 + (N − n + 0.5) / (n + 0.5))` and
/// `tf = f · (k1 + 1) / (f + k1 · (1 − b + b · length / pivot))`,
/// where n of N records contain the clause, and f is its frequency in the record (S. Robertson and H. Zaragoza, "The
/// Probabilistic Relevance Framework: BM25 and Beyond", 2009).
///
/// The sum is divided by that of a record of the pivot's length that contains every clause once. The score is thus
/// about the share of the query that a record contains, for any query. Repetition and brevity increase it, up to a
/// factor of k1 + 1. A clause that no record contains counts as missing, unless its weight is below 1: such a clause is
/// a guess (an alternative spelling, for example), and counts only if some record contains it.
///
/// The usual pivot is the mean length of all records. Here it is a fixed number of terms, so that the score of a record
/// does not depend on the lengths of others: among turns of ten terms a turn twice as long is not diluted, among pasted
/// pages it is. The fixed pivot is better in both cases; `docs/design/retrieval.md` has the measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Saturation of the term frequency, at least 0. With higher values, more repetitions increase the score. Default:
    /// 1.2.
    pub k1: f64,
    /// Length normalisation, from 0 (none) to 1 (full). Default: 0.6.
    pub b: f64,
    /// Length, in terms, at which length normalisation has no effect. Default: 40.
    pub pivot: f64,
}

impl Default for Bm25 {
    /// The values of `docs/design/retrieval.md`.
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6, pivot: 40.0 }
    }
}

/// A record within the searched scope that contains at least one clause.
#[derive(Debug, Clone)]
pub struct Bm25Candidate<K> {
    /// The key of the record.
    pub key: K,
    /// For each clause, the number of occurrences of its terms, multiplied by the weights of the terms.
    pub frequencies: Vec<f64>,
    /// Number of terms of the record, repetitions included.
    pub length: u32,
    /// True if the record passes the filter of the query. Other records still count in the statistics.
    pub admitted: bool,
}

impl Bm25 {
    /// Returns the best `limit` admitted candidates with their scores, best first; equal scores are ordered by key.
    ///
    /// `documents` is the number of records in the searched scope. `candidates` must contain every record of the scope
    /// with a clause, since the document frequencies are counted from them.
    pub fn rank<K: Ord + Copy>(
        &self,
        documents: u64,
        clauses: &[Clause],
        candidates: &[Bm25Candidate<K>],
        limit: usize,
    ) -> Vec<(K, Score)> {
        let mut document_frequencies = vec![0_u64; clauses.len()];
        for candidate in candidates {
            for (document_frequency, frequency) in document_frequencies.iter_mut().zip(&candidate.frequencies) {
                if *frequency > 0.0 {
                    *document_frequency += 1;
                }
            }
        }
        self.rank_best(documents, clauses, &document_frequencies, candidates, limit)
    }

    /// As [`rank`](Self::rank), with the number of records in the scope that contain each clause. `candidates` must
    /// contain the best `limit` admitted records, and may lack others.
    pub fn rank_best<K: Ord + Copy>(
        &self,
        documents: u64,
        clauses: &[Clause],
        document_frequencies: &[u64],
        candidates: &[Bm25Candidate<K>],
        limit: usize,
    ) -> Vec<(K, Score)> {
        let idf = IdfTable::new(documents, clauses, document_frequencies);
        let mut ranked: Vec<(K, Score)> = candidates
            .iter()
            .filter(|candidate| candidate.admitted)
            .map(|candidate| {
                let norm = self.norm(candidate.length);
                let matching =
                    candidate.frequencies.iter().zip(idf.values()).filter(|(frequency, _)| **frequency > 0.0);
                let sum = matching.map(|(frequency, idf)| self.contribution(*idf, *frequency, norm)).sum();
                (candidate.key, idf.normalise(sum))
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

    /// Returns the score that a term adds to a document of this length; 0 if the document does not contain the term.
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
    /// Sum of term scores that becomes the score 1: that of a document with every clause that counts.
    full_score: f64,
}

impl IdfTable {
    /// Computes the table from the number of documents in the scope, and the number of documents with each clause.
    pub(crate) fn new(documents: u64, clauses: &[Clause], document_frequencies: &[u64]) -> Self {
        let documents = documents.max(1) as f64;
        let mut idf = Vec::with_capacity(clauses.len());
        let mut full_score = 0.0;
        for (clause, document_frequency) in clauses.iter().zip(document_frequencies) {
            let containing = *document_frequency as f64;
            let value = clause.weight * (1.0 + (documents - containing + 0.5).max(0.0) / (containing + 0.5)).ln();
            // A clause with a weight below 1 is a guess, and counts only if some document contains it.
            if *document_frequency > 0 || clause.weight >= 1.0 {
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

    /// Returns true if no clause lowers the score of a document that contains it.
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
