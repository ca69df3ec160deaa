//! The state of a request to add memories.

use memory_engine::{Field, Filter, Job, Kind, Record, RecordId, ScanQuery, Scope, State};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{add::AddResult, error::Mem0Error, metadata, row, service::Mem0};
use crate::access::Access;

/// The state of a request to add memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EventState {
    id: String,
    event_type: &'static str,
    /// `PENDING`, `SUCCEEDED` or `FAILED`.
    status: &'static str,
    results: Vec<AddResult>,
    metadata: Value,
    created_at: String,
    updated_at: String,
}

impl Mem0 {
    /// Returns the state of an event. The id of an event is that of the first record it stored.
    ///
    /// # Errors
    /// 404 if the key does not reach this record, or if it has been deleted.
    pub(super) async fn event(&self, access: &Access, id: RecordId) -> Result<EventState, Mem0Error> {
        let first = self.first_of_event(access, id).await?.ok_or_else(|| Mem0Error::not_found("Event not found!"))?;
        let same_event = Filter::eq(Field::Metadata(metadata::EVENT.into()), id.to_string().as_str())
            .and(Filter::eq(Field::Kind, first.kind.as_str()))
            .and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::oldest(1000).with_filter(same_event);
        let stored: Vec<Record> = self.engine.scan(&first.scope, &query).await?.records;
        let (status, results) = if first.state == State::Pending {
            ("PENDING", Vec::new())
        } else if first.kind == Kind::TURN {
            let turns: Vec<RecordId> = stored.iter().map(|turn| turn.id).collect();
            let facts = self.engine.admin().facts_from(&first.scope, &turns).await?;
            let status = if facts.is_empty() { self.extraction_status(&first.scope).await? } else { "SUCCEEDED" };
            (status, self.fact_results(&facts).await?)
        } else {
            ("SUCCEEDED", stored.iter().map(AddResult::verbatim).collect())
        };
        let recorded_at = row::time(first.recorded_at);
        Ok(EventState {
            id: id.to_string(),
            event_type: "ADD",
            status,
            results: results.into_iter().map(AddResult::for_platform).collect(),
            metadata: metadata::to_caller(&first),
            created_at: recorded_at.clone(),
            updated_at: recorded_at,
        })
    }

    /// Returns the first record of an event, which may wait for a review.
    async fn first_of_event(&self, access: &Access, id: RecordId) -> Result<Option<Record>, Mem0Error> {
        for scope in access.scopes()? {
            let record = self.engine.get(&scope, id).await?;
            let is_first = |record: &Record| metadata::text(record, metadata::EVENT) == Some(&id.to_string());
            let is_visible = |record: &Record| row::is_readable(record) || record.state == State::Pending;
            if let Some(record) = record.filter(is_first).filter(is_visible) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Returns the status of a turn without facts, derived from all extraction jobs in its scope.
    async fn extraction_status(&self, scope: &Scope) -> Result<&'static str, Mem0Error> {
        let stats = self.engine.stats(scope).await?;
        if stats.queued.get(&Job::Facts).is_some_and(|count| *count > 0) {
            return Ok("PENDING");
        }
        let has_failed = stats.dead_letters.get(&Job::Facts).is_some_and(|count| *count > 0);
        Ok(if has_failed { "FAILED" } else { "SUCCEEDED" })
    }
}
