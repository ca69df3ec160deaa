//! The shape of a query, which decides the weights of the features.

use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_reranker::QueryShape;

use super::document_terms::DocumentTerms;

/// A query of at least this many estimated tokens (about 80 of a model) is a long one: a dialogue, or a pasted text.
const LONG_QUERY_MIN_TOKENS: usize = 105;
/// The messages are long if the median of the first candidates has at least this many terms.
const LONG_MESSAGE_MIN_TERMS: u32 = 40;
/// Number of candidates that decide whether the messages are long.
const SHAPE_CANDIDATES: usize = 20;

/// Chooses the shape by the length of the query and of the first candidates. `terms` are in the order of the
/// candidates.
pub(super) fn query_shape(query: &str, terms: &[DocumentTerms]) -> QueryShape {
    if is_long_query(query) {
        return QueryShape::LongQuery;
    }
    let mut lengths: Vec<u32> = terms.iter().take(SHAPE_CANDIDATES).map(|terms| terms.length).collect();
    lengths.sort_unstable();
    let is_long = |median: &u32| *median >= LONG_MESSAGE_MIN_TERMS;
    if lengths.get(lengths.len() / 2).is_some_and(is_long) { QueryShape::LongMessages } else { QueryShape::Question }
}

pub(super) fn is_long_query(query: &str) -> bool {
    EstimatedTokens.count(query) >= LONG_QUERY_MIN_TOKENS
}
