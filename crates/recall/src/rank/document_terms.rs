//! The indexed terms of a candidate.

use memory_engine_core::PackedTerms;
use memory_engine_indexing::is_date_term;
use memory_engine_reranker::TermSet;

/// The words of a record, without its dates.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentTerms {
    /// Number of terms, repetitions included.
    pub(super) length: u32,
    pub(super) set: TermSet,
}

impl From<PackedTerms> for DocumentTerms {
    fn from(terms: PackedTerms) -> Self {
        let words: Vec<(&str, u32)> = terms.iter().filter(|(term, _)| !is_date_term(term)).collect();
        let length = words.iter().map(|(_, count)| count).sum();
        Self { length, set: words.into_iter().map(|(word, _)| word).collect() }
    }
}
