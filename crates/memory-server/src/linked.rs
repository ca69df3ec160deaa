//! The records that belong to a fact, and are deleted or retracted with it.

use memory_engine::{Kind, MemoryEngine, Record, RecordId, Result, enrichment::fact_keys};

/// The reason of the retraction of the turns that state a deleted fact.
pub(crate) const DELETED_REASON: &str = "a fact from it was deleted";

/// The records that belong to a fact. Both lists are empty for a record of another kind.
#[derive(Debug, Default)]
pub(crate) struct LinkedRecords {
    /// The facts that confirm it. One of them would otherwise become active in place of the deleted fact.
    pub(crate) confirming: Vec<Record>,
    /// The ids of the turns that state the fact, or one that confirms it.
    pub(crate) sources: Vec<RecordId>,
}

/// Reads the records that belong to a fact.
///
/// # Errors
/// Returns the error of the store.
pub(crate) async fn linked_records(engine: &MemoryEngine, record: &Record) -> Result<LinkedRecords> {
    if record.kind != Kind::FACT {
        return Ok(LinkedRecords::default());
    }
    let confirmed_by = record.metadata.get(fact_keys::CONFIRMED_BY).cloned().unwrap_or_default();
    let ids: Vec<RecordId> = serde_json::from_value(confirmed_by).unwrap_or_default();
    let confirming: Vec<Record> =
        engine.get_all(&record.scope.namespace(), &ids).await?.into_iter().flatten().collect();
    let sources = confirming.iter().chain([record]).flat_map(|fact| fact.derived_from.clone()).collect();
    Ok(LinkedRecords { confirming, sources })
}
