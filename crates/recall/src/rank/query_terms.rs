//! The terms of the query that a relevant candidate holds.

use memory_engine_graph::likely_names;
use memory_engine_keyword_store::Clause;
use memory_engine_reranker::{QueryShape, TermSet};

use super::document_terms::DocumentTerms;
use crate::run::RecallRun;

/// Idf is computed as among at least this many documents: in a small store, no word is known to be common.
const MIN_DOCUMENTS: usize = 100;
/// A memory that matches either the question or the dialogue before it is relevant: it cannot hold the words of both.
const CONTEXT_COVERAGE: f64 = 0.5;

/// The words and the likely names of a query.
#[derive(Debug)]
pub(super) struct QueryTerms {
    words: Vec<Word>,
    /// The parts of each name.
    names: Vec<Vec<TermSet>>,
    /// True if the query contains the dialogue before it, or is a dialogue itself.
    has_context: bool,
}

/// A word of the query with its synonyms.
#[derive(Debug)]
struct Word {
    terms: TermSet,
    weight: f64,
}

impl RecallRun<'_> {
    /// Returns the terms of the query. `words` are those that the keyword retriever searched for; empty if it was not
    /// asked.
    pub(super) async fn query_terms(&self, mut words: Vec<Clause>, shape: QueryShape) -> QueryTerms {
        let query = self.plan.query;
        let analysis = self.parts.store.analysis();
        if words.is_empty() {
            words = analysis.query_clauses(query.text.clone()).await.unwrap_or_default();
        }
        let mut names = Vec::new();
        for name in likely_names(&query.text) {
            let mut parts = analysis.query_clauses(name).await.unwrap_or_default();
            // A single Chinese character is no evidence of a name.
            parts.retain(|part| part.terms.iter().any(|term| term.term.chars().nth(1).is_some()));
            if !parts.is_empty() {
                names.push(parts.iter().map(term_set).collect());
            }
        }
        let words = words.iter().map(|word| Word { terms: term_set(word), weight: word.weight }).collect();
        QueryTerms { words, names, has_context: query.has_context || shape == QueryShape::LongQuery }
    }
}

fn term_set(clause: &Clause) -> TermSet {
    clause.terms.iter().map(|term| term.term.as_str()).collect()
}

/// How much of the query each candidate holds, and what none of them holds.
#[derive(Debug)]
pub(super) struct Coverage {
    /// For each candidate, the share of the query's words that it holds, weighted by idf.
    pub(super) shares: Vec<f64>,
    /// The share of the query's words that no candidate holds, weighted by idf.
    pub(super) unknown_words: f64,
    /// The share of the query's names of which no candidate holds a part.
    pub(super) unknown_names: f64,
}

impl QueryTerms {
    pub(super) fn coverage(&self, documents: &[DocumentTerms]) -> Coverage {
        let mut held = vec![0.0; documents.len()];
        let (mut total, mut unknown) = (0.0, 0.0);
        for word in &self.words {
            let holding: Vec<usize> = holders(documents, &word.terms).collect();
            // A guess that no candidate holds was wrong, and does not count.
            if holding.is_empty() && word.weight < 1.0 {
                continue;
            }
            let weight = word.weight * idf(documents.len().max(MIN_DOCUMENTS), holding.len());
            total += weight;
            if holding.is_empty() {
                unknown += weight;
            }
            for document in holding {
                held[document] += weight;
            }
        }
        let share = |weight: f64| if total > 0.0 { weight / total } else { 0.0 };
        if self.has_context {
            let shares = held.into_iter().map(|weight| (share(weight) / CONTEXT_COVERAGE).min(1.0)).collect();
            return Coverage { shares, unknown_words: 0.0, unknown_names: 0.0 };
        }
        let is_unknown = |parts: &&Vec<TermSet>| parts.iter().all(|part| holders(documents, part).next().is_none());
        let unknown_names = self.names.iter().filter(is_unknown).count() as f64 / self.names.len().max(1) as f64;
        let shares = held.into_iter().map(share).collect();
        Coverage { shares, unknown_words: share(unknown), unknown_names }
    }
}

/// Returns the indexes of the documents that hold any of these terms.
fn holders<'a>(documents: &'a [DocumentTerms], terms: &'a TermSet) -> impl Iterator<Item = usize> + 'a {
    let holds = |(_, document): &(usize, &DocumentTerms)| document.set.has_any_of(terms);
    documents.iter().enumerate().filter(holds).map(|(index, _)| index)
}

/// Inverse document frequency, as in [`Bm25`](memory_engine_keyword_store::Bm25).
fn idf(documents: usize, holding: usize) -> f64 {
    (((documents - holding) as f64 + 0.5) / (holding as f64 + 0.5)).ln_1p()
}
