//! The distinct terms of a query, for adapters that count terms in stored documents.

use std::collections::BTreeSet;

use crate::store::Clause;

/// The distinct terms of a query, and the terms of each clause with their weights.
#[derive(Debug)]
pub struct DistinctTerms<'q> {
    /// Each term once, sorted.
    terms: Vec<&'q str>,
    /// For each clause, the indexes of its terms in `terms`, with their weights.
    clauses: Vec<Vec<(usize, f64)>>,
}

impl<'q> DistinctTerms<'q> {
    /// Returns the terms of these clauses.
    pub fn of(clauses: &'q [Clause]) -> Self {
        let all = clauses.iter().flat_map(|clause| &clause.terms);
        let distinct: BTreeSet<&str> = all.map(|weighted| weighted.term.as_str()).collect();
        let terms: Vec<&str> = distinct.into_iter().collect();
        let index_of = |term: &str| terms.binary_search(&term).unwrap_or_default();
        let clauses = clauses
            .iter()
            .map(|clause| clause.terms.iter().map(|weighted| (index_of(&weighted.term), weighted.weight)).collect())
            .collect();
        Self { terms, clauses }
    }

    /// Returns each term once, sorted.
    pub fn terms(&self) -> &[&'q str] {
        &self.terms
    }

    /// Returns the [`Bm25Candidate::frequencies`](crate::Bm25Candidate::frequencies) of a document. `counts` holds the
    /// count of each of [`terms`](Self::terms) in the document.
    pub fn frequencies(&self, counts: &[u32]) -> Vec<f64> {
        let weighted_frequency = |clause: &Vec<(usize, f64)>| {
            let matching = clause.iter().filter(|(term, _)| counts[*term] > 0);
            matching.fold(0.0, |sum, (term, weight)| sum + f64::from(counts[*term]) * weight)
        };
        self.clauses.iter().map(weighted_frequency).collect()
    }
}
