//! The shape of a query, which decides the weights of the features.

use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_reranker::QueryShape;
use memory_engine_temporal::windows;

use super::document_terms::DocumentTerms;
use crate::plan::Plan;

/// A query of at least this many estimated tokens (about 80 of a model) is a long one: a dialogue, or a pasted text.
const LONG_QUERY_MIN_TOKENS: usize = 105;
/// The messages are long if the median of the first candidates has at least this many words.
const LONG_MESSAGE_MIN_WORDS: u32 = 40;
/// Number of candidates that decide whether the messages are long.
const SHAPE_CANDIDATES: usize = 20;

/// Chooses the shape by the length of the query and of the first candidates, and by the dates that the query names.
/// `terms` are in the order of the candidates.
pub(super) fn query_shape(plan: &Plan<'_>, terms: &[DocumentTerms]) -> QueryShape {
    let query = &plan.query.text;
    if is_long_query(query) {
        return QueryShape::LongQuery;
    }
    let mut lengths: Vec<u32> = terms.iter().take(SHAPE_CANDIDATES).map(|terms| terms.words).collect();
    lengths.sort_unstable();
    let is_long = |median: &u32| *median >= LONG_MESSAGE_MIN_WORDS;
    if lengths.get(lengths.len() / 2).is_some_and(is_long) {
        QueryShape::LongMessages
    } else if windows(query, plan.asked_at, &plan.zone).is_empty() {
        QueryShape::Question
    } else {
        QueryShape::DatedQuestion
    }
}

pub(super) fn is_long_query(query: &str) -> bool {
    EstimatedTokens.count(query) >= LONG_QUERY_MIN_TOKENS
}
