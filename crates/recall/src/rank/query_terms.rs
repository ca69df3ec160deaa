//! Words and likely names of the query, and their coverage by the candidates.

use memory_engine_core::Result;
use memory_engine_graph::likely_names;
use memory_engine_keyword_store::Clause;
use memory_engine_reranker::TermSet;

use super::{codes::codes, document_terms::DocumentTerms, first_person::speaks_of_user, query_shape::is_long_query};
use crate::run::RecallRun;

/// Minimum number of candidates assumed for idf. With fewer, it would hardly separate common words from rare ones.
pub(super) const IDF_MIN_CANDIDATES: usize = 100;
/// Word coverage (0–1) that counts as full for a query with dialogue: a memory matches either the question or the
/// dialogue before it.
const CONTEXT_COVERAGE: f64 = 0.5;

/// The words and the likely names of a query.
#[derive(Debug, Default)]
pub(super) struct QueryTerms {
    words: Vec<Word>,
    /// The codes among the words.
    codes: Vec<TermSet>,
    /// The parts of each name. Empty for a query with dialogue.
    names: Vec<Vec<TermSet>>,
    /// True if the query speaks of the user. False for a query with dialogue, which nearly always does.
    is_first_person: bool,
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
    ///
    /// # Errors
    /// That of the analyzer.
    pub(super) async fn analyze_query(&self, mut words: Vec<Clause>) -> Result<QueryTerms> {
        let query = self.plan.query;
        let analysis = self.parts.store.analysis();
        if words.is_empty() {
            words = analysis.query_clauses(query.text.clone()).await?;
        }
        let has_context = query.has_context || is_long_query(&query.text);
        let likely_names = if has_context { Vec::new() } else { likely_names(&query.text) };
        let mut names = Vec::new();
        for name in likely_names {
            let mut parts = analysis.query_clauses(name).await?;
            // A single Chinese character is no evidence of a name.
            parts.retain(|part| part.terms.iter().any(|term| term.term.chars().nth(1).is_some()));
            if !parts.is_empty() {
                names.push(parts.iter().map(|part| term_set(with_synonyms(part, &words))).collect());
            }
        }
        let codes = codes(&words);
        let words = words.iter().map(|word| Word { terms: term_set(word), weight: word.weight }).collect();
        let is_first_person = !has_context && speaks_of_user(&query.text);
        Ok(QueryTerms { words, codes, names, is_first_person, has_context })
    }
}

/// Returns the word of the query that a part of a name is, with its synonyms; the part itself if there is none.
fn with_synonyms<'a>(part: &'a Clause, words: &'a [Clause]) -> &'a Clause {
    let is_same = |word: &&Clause| word.terms.iter().any(|term| part.terms.iter().any(|own| own.term == term.term));
    words.iter().find(is_same).unwrap_or(part)
}

fn term_set(clause: &Clause) -> TermSet {
    clause.terms.iter().map(|term| term.term.as_str()).collect()
}

/// The coverage of the query by the candidates.
#[derive(Debug)]
pub(super) struct Coverage {
    /// For each candidate, the share of the query's words that it contains, weighted by idf.
    pub(super) shares: Vec<f64>,
    /// True if the query speaks of the user, or if candidates contain every likely name in it. False for a query with
    /// dialogue.
    pub(super) is_personal: bool,
    /// The share of the query's names of which no candidate contains a part. 0 for a query with dialogue.
    pub(super) unknown_names: f64,
}

impl QueryTerms {
    /// Returns false for a query that names dates only.
    pub(super) fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns the codes of the query, each as the terms by which a text contains it.
    pub(super) fn codes(&self) -> &[TermSet] {
        &self.codes
    }

    /// Returns true if the query speaks of the user. False for a query with dialogue.
    pub(super) fn is_first_person(&self) -> bool {
        self.is_first_person
    }

    /// Returns the coverage of the query by these candidates.
    pub(super) fn coverage(&self, documents: &[DocumentTerms]) -> Coverage {
        let mut held = vec![0.0; documents.len()];
        let mut total = 0.0;
        for word in &self.words {
            let holding: Vec<usize> = holders(documents, &word.terms).collect();
            // A weight below 1 marks an uncertain segmentation, such as a pair of characters across two words. If no
            // candidate contains it, it is ignored.
            if holding.is_empty() && word.weight < 1.0 {
                continue;
            }
            let weight = word.weight * idf(documents.len().max(IDF_MIN_CANDIDATES), holding.len());
            total += weight;
            for document in holding {
                held[document] += weight;
            }
        }
        let share = |weight: f64| if total > 0.0 { weight / total } else { 0.0 };
        if self.has_context {
            let shares = held.into_iter().map(|weight| (share(weight) / CONTEXT_COVERAGE).min(1.0)).collect();
            return Coverage { shares, is_personal: false, unknown_names: 0.0 };
        }
        let is_unknown = |parts: &&Vec<TermSet>| parts.iter().all(|part| holders(documents, part).next().is_none());
        let unknown_count = self.names.iter().filter(is_unknown).count();
        let names_known_people = !self.names.is_empty() && unknown_count == 0;
        let shares = held.into_iter().map(share).collect();
        Coverage {
            shares,
            is_personal: self.is_first_person || names_known_people,
            unknown_names: unknown_count as f64 / self.names.len().max(1) as f64,
        }
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
