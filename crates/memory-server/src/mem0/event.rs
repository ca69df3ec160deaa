//! What became of an addition, for whoever asks later.

use memory_engine::{Field, Filter, Job, Kind, Record, RecordId, ScanQuery, State};
use serde_json::{Value, json};

use super::{Mem0, add, failure::Failure, marks, row};
use crate::Access;

impl Mem0 {
    /// An event is known by the first record that it has stored: nothing else has to be kept for it, and it is gone with that.
    pub(super) async fn event(&self, access: &Access, id: RecordId) -> Result<Value, Failure> {
        let unknown = || Failure::not_found("Event not found!");
        let first =
            self.find(access, id).await?.filter(|record| marks::text(record, marks::EVENT) == Some(&id.to_string()));
        let first = first.ok_or_else(unknown)?;
        let same = Filter::eq(Field::Metadata(marks::EVENT.into()), id.to_string().as_str())
            .and(Filter::eq(Field::Kind, first.kind.as_str()))
            .and(Filter::eq(Field::State, State::Active.as_str()));
        let query = ScanQuery::oldest(1000).with_filter(same);
        let stored: Vec<Record> = self.engine.scan(&first.scope, &query).await?.records;
        let (status, results) = if first.kind == Kind::TURN {
            let turns: Vec<RecordId> = stored.iter().map(|turn| turn.id).collect();
            let facts = self.engine.facts_from(&first.scope, &turns).await?;
            (self.status(&first, !facts.is_empty()).await?, self.told(&facts).await?)
        } else {
            ("SUCCEEDED", stored.iter().map(add::as_it_is).collect())
        };
        let at = row::time(first.recorded_at);
        Ok(json!({
            "id": id,
            "event_type": "ADD",
            "status": status,
            "results": results.into_iter().map(for_platform).collect::<Vec<_>>(),
            "metadata": marks::shown(&first),
            "created_at": at,
            "updated_at": at,
        }))
    }

    /// How far the background has come with the facts of a turn: as far as with the others at its address.
    async fn status(&self, turn: &Record, found: bool) -> Result<&'static str, Failure> {
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

/// A result in the platform's form, with what it says in both places where clients look for it.
pub(super) fn for_platform(mut result: Value) -> Value {
    result["data"] = json!({"memory": result["memory"]});
    result
}
