//! The records that belong to a fact, and go with it.

use std::collections::BTreeMap;

use memory_engine_core::{Field, Filter, FilterValue, Kind, Record, RecordId, Result, ScanQuery, Scope, fact_keys};
use serde::{Deserialize, Serialize};

use crate::curation::Curation;

/// The treatment of the turns that state a fact which is deleted by its id. In JSON `"retract"`, `"delete"` or
/// `"keep"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkedTurns {
    /// They are retracted: neither found nor injected, but restorable.
    #[default]
    Retract,
    /// They are deleted, with everything that is derived from them, also other facts.
    Delete,
    /// They stay.
    Keep,
}

/// The records of a user that belong to facts. Empty for records of other kinds.
#[derive(Debug, Default)]
pub(crate) struct LinkedRecords {
    /// The facts that confirm them. One of these would otherwise become active in place of the deleted fact.
    pub(crate) confirming: Vec<RecordId>,
    /// The turns that state the facts, or one that confirms them.
    pub(crate) turns: Vec<RecordId>,
}

impl Curation {
    /// Returns what belongs to the facts among these records, by user.
    pub(crate) async fn linked_records(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<BTreeMap<Scope, LinkedRecords>> {
        let is_fact = Filter::eq(Field::Kind, Kind::FACT.as_str());
        let filter = Filter::any_of(Field::Id, ids.iter().map(|id| FilterValue::from(id.to_string()))).and(is_fact);
        let facts = self.indexed_store().scan(scope, &ScanQuery::oldest(ids.len()).with_filter(filter)).await?.records;
        let mut linked: BTreeMap<Scope, LinkedRecords> = BTreeMap::new();
        for fact in facts {
            let user = fact.scope.namespace();
            let confirmed_by = fact.metadata.get(fact_keys::CONFIRMED_BY).cloned().unwrap_or_default();
            // A fact that nothing confirms has no list.
            let confirming: Vec<RecordId> = serde_json::from_value(confirmed_by).unwrap_or_default();
            let confirming = self.indexed_store().get_all(&user, &confirming).await?;
            let confirming: Vec<Record> = confirming.into_iter().flatten().collect();
            let sources: Vec<RecordId> =
                confirming.iter().chain([&fact]).flat_map(|fact| fact.derived_from.clone()).collect();
            let sources = self.indexed_store().get_all(&user, &sources).await?;
            let turns = sources.iter().flatten().filter(|source| source.kind == Kind::TURN);
            let records = linked.entry(user).or_default();
            records.turns.extend(turns.map(|turn| turn.id));
            records.confirming.extend(confirming.iter().map(|fact| fact.id));
        }
        Ok(linked)
    }
}
