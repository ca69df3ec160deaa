//! The query terms of a search, as an adapter over a database counts them.

use std::collections::BTreeSet;

use crate::store::Clause;

/// The terms of a query, each once and sorted, and for each clause which of them it takes with what weight.
#[derive(Debug)]
pub struct QueryTerms<'q> {
    terms: Vec<&'q str>,
    clauses: Vec<Vec<(usize, f64)>>,
}

impl<'q> QueryTerms<'q> {
    /// Returns the terms of these clauses.
    pub fn of(clauses: &'q [Clause]) -> Self {
        let all = clauses.iter().flat_map(|clause| &clause.terms);
        let terms: BTreeSet<&str> = all.map(|wanted| wanted.term.as_str()).collect();
        let terms: Vec<&str> = terms.into_iter().collect();
        let place = |term: &str| terms.binary_search(&term).unwrap_or_default();
        let clauses = clauses
            .iter()
            .map(|clause| clause.terms.iter().map(|wanted| (place(&wanted.term), wanted.weight)).collect())
            .collect();
        Self { terms, clauses }
    }

    /// The terms, each once, sorted.
    pub fn terms(&self) -> &[&'q str] {
        &self.terms
    }

    /// Returns the [`Candidate::frequencies`](crate::Candidate::frequencies) of a document from the counts of its
    /// terms.
    pub fn frequencies(&self, counts: &[u32]) -> Vec<f64> {
        let of_clause = |terms: &Vec<(usize, f64)>| {
            let held = terms.iter().filter(|(term, _)| counts[*term] > 0);
            held.fold(0.0, |sum, (term, weight)| sum + f64::from(counts[*term]) * weight)
        };
        self.clauses.iter().map(of_clause).collect()
    }
}
