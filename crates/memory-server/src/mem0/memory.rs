//! One memory: looked at, changed, deleted, judged.

use memory_engine::{ErrorKind, PutMode, Record, RecordId, Trust, summarizer::fact_keys};
use serde_json::{Map, Value, json};

use super::{Mem0, failure::Failure, fields::Fields, filters, history, marks, row};
use crate::Access;

/// How often a change is tried anew when somebody else writes the same memory.
const TRIES: usize = 5;

/// What is to become of a memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    text: Option<String>,
    metadata: Map<String, Value>,
    /// A day, or none at all.
    expires: Option<Option<String>>,
    /// When it is said to have been made.
    timestamp: Option<memory_engine::Timestamp>,
}

impl Change {
    /// Reads a change.
    ///
    /// # Errors
    /// 400 when it changes nothing, or says no day where one is due; 422 for a field of another type.
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Failure> {
        let text = fields.text("text").or_else(|| fields.text("data"));
        let metadata = fields.object("metadata");
        let expires = match fields.value("expiration_date") {
            Some(value) => Some(Some(filters::day("expiration_date", value)?)),
            None => fields.has("expiration_date").then_some(None),
        };
        let timestamp = timestamp(fields)?;
        fields.check()?;
        if text.is_none() && metadata.is_none() && expires.is_none() && timestamp.is_none() {
            return Err(Failure::bad_request("Nothing to update: give text, metadata or expiration_date."));
        }
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Failure::bad_request("text is empty; to delete a memory, use DELETE"));
        }
        Ok(Self { text, metadata: metadata.unwrap_or_default(), expires, timestamp })
    }

    fn apply(&self, record: &mut Record, now: memory_engine::Timestamp) {
        if let Some(text) = self.text.as_ref().filter(|text| **text != record.text) {
            history::note_edit(record, now);
            record.text.clone_from(text);
            // It keeps its place among the facts, so that what is said later still follows it.
            if marks::is_fact(record) {
                record.metadata.insert(fact_keys::VALUE.into(), json!(text));
                record.trust = Trust::User;
            }
        }
        record.metadata.extend(marks::kept(self.metadata.clone()));
        match &self.expires {
            Some(Some(day)) => drop(record.metadata.insert(marks::EXPIRES.into(), json!(day))),
            Some(None) => drop(record.metadata.shift_remove(marks::EXPIRES)),
            None => {}
        }
        if let Some(timestamp) = self.timestamp {
            record.occurred_at = timestamp;
        }
        record.metadata.insert(marks::UPDATED.into(), json!(now.as_micros()));
    }
}

/// The field `timestamp`: seconds since 1970, or a time.
pub(super) fn timestamp(fields: &Fields) -> Result<Option<memory_engine::Timestamp>, Failure> {
    let wrong = || Failure::bad_request("timestamp is seconds since 1970, or a time such as 2026-03-02T20:15:00Z");
    fields.value("timestamp").map(|value| filters::moment(value).ok_or_else(wrong)).transpose()
}

/// An id as it stands in a path or a body.
pub(super) fn id(text: &str) -> Result<RecordId, Failure> {
    text.parse().map_err(|_| Failure::bad_request("memory_id should be a valid UUID"))
}

pub(super) fn unknown() -> Failure {
    Failure::not_found("Memory not found!")
}

impl Mem0 {
    /// The memory with this id, if it is within reach.
    pub(super) async fn find(&self, access: &Access, id: RecordId) -> Result<Option<Record>, Failure> {
        for scope in access.scopes()? {
            if let Some(record) = self.engine.get(&scope, id).await?.filter(row::can_be_shown) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Changes a memory, and gives it as it is then.
    pub(super) async fn change(&self, access: &Access, id: RecordId, change: &Change) -> Result<Record, Failure> {
        self.rewrite(access, id, |record| {
            if marks::is(record, marks::IMMUTABLE) {
                return Err(Failure::bad_request("this memory is immutable; it can be deleted, and not changed"));
            }
            change.apply(record, self.engine.clock().now());
            Ok(())
        })
        .await
    }

    async fn rewrite(
        &self,
        access: &Access,
        id: RecordId,
        change: impl Fn(&mut Record) -> Result<(), Failure>,
    ) -> Result<Record, Failure> {
        let mut tries = 0;
        loop {
            let mut record = self.find(access, id).await?.ok_or_else(unknown)?;
            let (scope, revision) = (record.scope.clone(), record.revision);
            change(&mut record)?;
            match self.engine.store(&scope, vec![record.clone()], PutMode::Update { revision }).await {
                Ok(_) => return Ok(record),
                Err(e) if e.kind() == ErrorKind::Conflict && tries < TRIES => tries += 1,
                Err(e) if e.kind() == ErrorKind::NotFound => return Err(unknown()),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Deletes a memory, what says the same as it, and, if that is asked for, the turns that it comes from.
    pub(super) async fn delete(&self, access: &Access, id: RecordId, linked: bool) -> Result<(), Failure> {
        let record = self.find(access, id).await?.ok_or_else(unknown)?;
        let user = record.scope.namespace();
        // What was said twice would come back as what was said once.
        let same = record.metadata.get(fact_keys::CONFIRMED_BY).cloned().unwrap_or_default();
        let mut more: Vec<RecordId> = serde_json::from_value(same).unwrap_or_default();
        if linked {
            more.extend(&record.derived_from);
        }
        let others = self.engine.get_all(&user, &more).await?;
        let gone = self.forget_all(&record.scope, std::slice::from_ref(&record)).await?;
        for other in others.into_iter().flatten().filter(|other| other.id != id) {
            self.forget_all(&other.scope, std::slice::from_ref(&other)).await?;
        }
        if gone == 0 { Err(unknown()) } else { Ok(()) }
    }

    /// Notes what somebody thinks of a memory; nothing takes it back.
    pub(super) async fn judge(&self, access: &Access, fields: &mut Fields) -> Result<Value, Failure> {
        fields.require("memory_id");
        let (memory, verdict, reason) =
            (fields.text("memory_id"), fields.text("feedback"), fields.text("feedback_reason"));
        fields.check()?;
        let id = id(&memory.unwrap_or_default())?;
        let verdict = verdict.map(|verdict| verdict.to_uppercase());
        if !matches!(verdict.as_deref(), None | Some("POSITIVE" | "NEGATIVE" | "VERY_NEGATIVE")) {
            return Err(Failure::bad_request("feedback is POSITIVE, NEGATIVE, VERY_NEGATIVE or null"));
        }
        let note = json!({"feedback": verdict, "feedback_reason": reason});
        self.rewrite(access, id, |record| {
            match &verdict {
                Some(_) => drop(record.metadata.insert(marks::FEEDBACK.into(), note.clone())),
                None => drop(record.metadata.shift_remove(marks::FEEDBACK)),
            }
            Ok(())
        })
        .await?;
        Ok(json!({"id": id, "feedback": verdict, "feedback_reason": reason}))
    }
}
