//! The input of the computation of features.

use memory_engine_core::{Record, RecordId};
use rustc_hash::FxHashMap;

use super::{document_terms::DocumentTerms, late_interaction::TokenSimilarities, query_terms::QueryTerms};
use crate::{candidate::Candidate, neighbors::NeighborPair, plan::Plan};

/// The candidates of a query with the data of the search. `terms` is aligned with `candidates`.
pub(super) struct FeatureInput<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) candidates: &'a [(Candidate, Record)],
    pub(super) terms: &'a [DocumentTerms],
    pub(super) neighbors: &'a [NeighborPair],
    /// Keyword score as a share of the best one.
    pub(super) keyword_shares: &'a FxHashMap<RecordId, f64>,
    /// Keyword shares by each sentence of the query; empty if it has one sentence.
    pub(super) sentence_shares: &'a [FxHashMap<RecordId, f64>],
    pub(super) token_similarities: &'a TokenSimilarities,
    pub(super) query_terms: &'a QueryTerms,
}
