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
        let mut length = 0;
        let words = terms.iter().filter(|(term, _)| !is_date_term(term));
        let set = words.inspect(|(_, count)| length += count).map(|(word, _)| word).collect();
        Self { length, set }
    }
}
