//! The checks that every call makes before it reaches the database.

use memory_engine_core::{EmbeddingSpace, Filter, Result, Scope, Write};
use memory_engine_graph::GraphEntry;
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::{VectorEntry, VectorQuery};

use crate::filter;

/// Checks a batch of writes: addresses within `scope`, vectors of this space.
///
/// # Errors
/// `Unauthorized` or `DimensionMismatch`.
pub fn check_writes(scope: &Scope, space: &EmbeddingSpace, writes: &[Write]) -> Result<()> {
    writes.iter().try_for_each(|write| scope.authorize("put", &write.record.scope))?;
    writes.iter().flat_map(|write| &write.embedding).try_for_each(|embedding| space.check("put", embedding))
}

/// Checks entries for the keyword index: addresses within `scope`.
///
/// # Errors
/// `Unauthorized`.
pub fn check_keyword_entries(scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
    entries.iter().try_for_each(|entry| scope.authorize("keyword upsert", &entry.record.scope))
}

/// Checks entries for the vector index: addresses within `scope`, vectors of this space.
///
/// # Errors
/// `Unauthorized` or `DimensionMismatch`.
pub fn check_vector_entries(scope: &Scope, space: &EmbeddingSpace, entries: &[VectorEntry]) -> Result<()> {
    for entry in entries {
        scope.authorize("vector upsert", &entry.record.scope)?;
        space.check("vector upsert", &entry.embedding)?;
    }
    Ok(())
}

/// Checks a vector query: a vector of this space and a valid filter.
///
/// # Errors
/// `DimensionMismatch`, `InvalidInput` or `Unsupported`.
pub fn check_vector_query(space: &EmbeddingSpace, query: &VectorQuery) -> Result<()> {
    space.check("vector search", &query.embedding)?;
    check_filter(query.filter.as_ref())
}

/// Checks entries for the graph: addresses within `scope`, valid extractions.
///
/// # Errors
/// `Unauthorized` or `InvalidInput`.
pub fn check_graph_entries(scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
    for entry in entries {
        scope.authorize("graph upsert", &entry.record.scope)?;
        entry.extraction.validate()?;
    }
    Ok(())
}

/// Checks a filter, if there is one.
///
/// # Errors
/// `InvalidInput`; `Unsupported` for a filter that this version cannot translate.
pub fn check_filter(filter: Option<&Filter>) -> Result<()> {
    let Some(filter) = filter else { return Ok(()) };
    filter.validate()?;
    filter::check(filter)
}
