//! The state of a request to add memories.

use memory_engine::{Field, Filter, Job, Kind, Record, RecordId, ScanQuery, State};
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
    /// Returns the state of an event. The id of an event is that of the first record it stored; it ends with that
    /// record.
    pub(super) async fn event(&self, access: &Access, id: RecordId) -> Result<EventState, Mem0Error> {
        let unknown = || Mem0Error::not_found("Event not found!");
        let first = self
            .find(access, id)
            .await?
            .filter(|record| metadata::text(record, metadata::EVENT) == Some(&id.to_string()));
        let first = first.ok_or_else(unknown)?;
        let same = Filter::eq(Field::Metadata(metadata::EVENT.into()), id.to_string().as_str())
            .and(Filter::eq(Field::Kind, first.kind.as_str()))
            .and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::oldest(1000).with_filter(same);
        let stored: Vec<Record> = self.engine.scan(&first.scope, &query).await?.records;
        let (status, results) = if first.kind == Kind::TURN {
            let turns: Vec<RecordId> = stored.iter().map(|turn| turn.id).collect();
            let facts = self.engine.admin().facts_from(&first.scope, &turns).await?;
            (self.status(&first, !facts.is_empty()).await?, self.results(&facts).await?)
        } else {
            ("SUCCEEDED", stored.iter().map(AddResult::verbatim).collect())
        };
        let at = row::time(first.recorded_at);
        Ok(EventState {
            id: id.to_string(),
            event_type: "ADD",
            status,
            results: results.into_iter().map(AddResult::for_platform).collect(),
            metadata: metadata::shown(&first),
            created_at: at.clone(),
            updated_at: at,
        })
    }

    /// Returns the state of fact extraction at the address of a turn.
    async fn status(&self, turn: &Record, found: bool) -> Result<&'static str, Mem0Error> {
        if found {
            return Ok("SUCCEEDED");
        }
        let stats = self.engine.stats(&turn.scope).await?;
        let waiting = stats.backlog.get(&Job::Facts).is_some_and(|count| *count > 0);
        if !waiting {
            let given_up = stats.given_up.get(&Job::Facts).is_some_and(|count| *count > 0);
            return Ok(if given_up { "FAILED" } else { "SUCCEEDED" });
        }
        Ok("PENDING")
    }
}
