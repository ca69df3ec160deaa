//! The indexed terms of a candidate.

use memory_engine_core::{PackedTerms, text::is_han};
use memory_engine_indexing::is_date_term;
use memory_engine_reranker::TermSet;

/// Number of terms of a Chinese word: a word has about one and a half characters, and a character about two terms.
const TERMS_PER_CHINESE_WORD: u32 = 3;

/// The words of a record, without its dates.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentTerms {
    /// Number of terms, repetitions included.
    pub(super) length: u32,
    /// Number of words: the terms, but [`TERMS_PER_CHINESE_WORD`] Chinese terms are one word.
    pub(super) words: u32,
    pub(super) set: TermSet,
}

impl From<PackedTerms> for DocumentTerms {
    fn from(terms: PackedTerms) -> Self {
        let (mut length, mut chinese) = (0, 0);
        let words = terms.iter().filter(|(term, _)| !is_date_term(term));
        let counted = words.inspect(|(term, count)| {
            length += count;
            if term.starts_with(is_han) {
                chinese += count;
            }
        });
        let set = counted.map(|(word, _)| word).collect();
        Self { length, words: length - chinese + chinese / TERMS_PER_CHINESE_WORD, set }
    }
}
