//! Reads, changes and deletes one memory.

use memory_engine::{
    ErrorKind, LinkedTurns, PutMode, Record, RecordId, Result as EngineResult, Timestamp, Trust,
    enrichment::fact_keys,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
    review::ReviewSource,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{error::Mem0Error, history, metadata, params::ParamGroup, row, service::Mem0, time};
use crate::access::Access;

/// The changes in a request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct UpdateParams {
    /// The new text.
    text: Option<String>,
    /// Old name of `text`.
    data: Option<String>,
    /// Metadata to merge into that of the memory.
    metadata: Option<Map<String, Value>>,
    /// The last day on which the memory is shown. `null` removes it.
    #[serde(deserialize_with = "null_as_some")]
    expiration_date: Option<Option<Value>>,
    /// The time of the memory, in seconds since 1970 or as RFC 3339.
    timestamp: Option<Value>,
}

/// The feedback on a memory.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["memory_id"]))]
pub(super) struct FeedbackParams {
    #[schemars(required)]
    memory_id: Option<String>,
    /// `POSITIVE`, `NEGATIVE` or `VERY_NEGATIVE`. `null` removes the feedback.
    feedback: Option<String>,
    feedback_reason: Option<String>,
}

/// The feedback that is stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Feedback {
    id: String,
    feedback: Option<String>,
    feedback_reason: Option<String>,
}

impl ParamGroup for UpdateParams {}

impl ParamGroup for FeedbackParams {
    const REQUIRED: &'static [&'static str] = &["memory_id"];
}

/// Reads `null` as `Some(None)`, to distinguish it from a missing field.
fn null_as_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Value>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A change of a memory.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryChange {
    text: Option<String>,
    metadata: Map<String, Value>,
    /// The new last day, or `Some(None)` to remove it.
    expires: Option<Option<String>>,
    timestamp: Option<Timestamp>,
}

impl UpdateParams {
    /// Checks a change.
    ///
    /// # Errors
    /// 400 if it changes nothing, and for an empty text, an invalid day or time.
    pub(super) fn into_change(self) -> Result<MemoryChange, Mem0Error> {
        let expires = match self.expiration_date {
            Some(Some(value)) => Some(Some(time::day("expiration_date", &value)?)),
            Some(None) => Some(None),
            None => None,
        };
        let timestamp = time::timestamp(self.timestamp.as_ref())?;
        let text = self.text.or(self.data);
        if text.is_none() && self.metadata.is_none() && expires.is_none() && timestamp.is_none() {
            return Err(Mem0Error::bad_request(
                "Nothing to update: send text, metadata, expiration_date or timestamp.",
            ));
        }
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Mem0Error::bad_request("text is empty; send DELETE to delete a memory"));
        }
        Ok(MemoryChange { text, metadata: self.metadata.unwrap_or_default(), expires, timestamp })
    }
}

impl MemoryChange {
    fn apply(&self, record: &mut Record, now: Timestamp) {
        if let Some(text) = self.text.as_ref().filter(|text| **text != record.text) {
            history::add_edit(record, now);
            record.text.clone_from(text);
            // The fact keeps its subject and slot, so that later facts still supersede it.
            if metadata::is_fact(record) {
                record.metadata.insert(fact_keys::VALUE.into(), json!(text));
                record.trust = Trust::User;
            }
        }
        record.metadata.extend(metadata::to_stored(self.metadata.clone()));
        match &self.expires {
            Some(Some(day)) => drop(record.metadata.insert(metadata::EXPIRES.into(), json!(day))),
            Some(None) => drop(record.metadata.shift_remove(metadata::EXPIRES)),
            None => {}
        }
        if let Some(timestamp) = self.timestamp {
            record.occurred_at = timestamp;
        }
        record.metadata.insert(metadata::UPDATED.into(), json!(now.as_micros()));
    }
}

/// A memory after a request to change it.
#[derive(Debug)]
pub(super) struct ChangedMemory {
    /// The memory; unchanged if the change waits.
    pub(super) record: Record,
    /// True if the change waits until a person accepts it.
    pub(super) is_pending: bool,
}

/// Parses an id.
pub(super) fn parse_id(text: &str) -> Result<RecordId, Mem0Error> {
    text.parse().map_err(|_| Mem0Error::bad_request("memory_id should be a valid UUID"))
}

pub(super) fn unknown() -> Mem0Error {
    Mem0Error::not_found("Memory not found!")
}

impl Mem0 {
    /// Returns the memory or turn with this id, if the key reaches it.
    pub(super) async fn find(&self, access: &Access, id: RecordId) -> EngineResult<Option<Record>> {
        for scope in access.scopes()? {
            if let Some(record) = self.engine.get(&scope, id).await?.filter(row::is_readable) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Changes a memory. If the review policy reviews tools, the change waits, and the memory stays as it is.
    ///
    /// # Errors
    /// 400 if the memory is immutable, 404 if the key does not reach it.
    pub(super) async fn change(
        &self,
        access: &Access,
        id: RecordId,
        change: &MemoryChange,
    ) -> Result<ChangedMemory, Mem0Error> {
        let change = |record: &mut Record| {
            if metadata::is_set(record, metadata::IMMUTABLE) {
                return Err(Mem0Error::bad_request("this memory is immutable; it can be deleted but not changed"));
            }
            change.apply(record, self.engine.settings().clock().now());
            Ok(())
        };
        self.rewrite(access, id, Some(ReviewSource::Tools), change).await
    }

    /// Stores a changed record, as the review policy says for `source`. Retries with the newest revision if another
    /// writer has changed it in the meantime.
    async fn rewrite(
        &self,
        access: &Access,
        id: RecordId,
        source: Option<ReviewSource>,
        change: impl Fn(&mut Record) -> Result<(), Mem0Error>,
    ) -> Result<ChangedMemory, Mem0Error> {
        match retry_on_conflict(WRITE_ATTEMPTS, || self.try_rewrite(access, id, source, &change)).await {
            Ok(changed) => changed,
            Err(error) if error.kind() == ErrorKind::NotFound => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes one attempt of [`rewrite`](Self::rewrite). A refusal, which no retry changes, is the inner error.
    async fn try_rewrite(
        &self,
        access: &Access,
        id: RecordId,
        source: Option<ReviewSource>,
        change: impl Fn(&mut Record) -> Result<(), Mem0Error>,
    ) -> EngineResult<Result<ChangedMemory, Mem0Error>> {
        let Some(current) = self.find(access, id).await? else { return Ok(Err(unknown())) };
        let mut record = current.clone();
        if let Err(refusal) = change(&mut record) {
            return Ok(Err(refusal));
        }
        let mode = PutMode::Update { revision: current.revision };
        let (scope, records) = (&current.scope, vec![record.clone()]);
        let is_pending = match source {
            Some(source) => {
                let stored = self.engine.review().store_from(source, scope, records, mode).await?;
                stored.iter().any(|stored| stored.is_pending)
            }
            None => {
                self.engine.store(scope, records, mode).await?;
                false
            }
        };
        Ok(Ok(ChangedMemory { record: if is_pending { current } else { record }, is_pending }))
    }

    /// Deletes a memory. With a fact, the turns that state it are treated as `turns` says.
    ///
    /// # Errors
    /// 404 if the key does not reach the memory.
    pub(super) async fn delete(&self, access: &Access, id: RecordId, turns: LinkedTurns) -> Result<(), Mem0Error> {
        let record = self.find(access, id).await?.ok_or_else(unknown)?;
        let deleted = self.forget_all(&record.scope, std::slice::from_ref(&record), turns).await?;
        if deleted == 0 { Err(unknown()) } else { Ok(()) }
    }

    /// Stores the feedback on a memory.
    pub(super) async fn set_feedback(&self, access: &Access, params: FeedbackParams) -> Result<Feedback, Mem0Error> {
        let id = parse_id(&params.memory_id.unwrap_or_default())?;
        let feedback = params.feedback.map(|feedback| feedback.to_uppercase());
        if !matches!(feedback.as_deref(), None | Some("POSITIVE" | "NEGATIVE" | "VERY_NEGATIVE")) {
            return Err(Mem0Error::bad_request("feedback must be POSITIVE, NEGATIVE, VERY_NEGATIVE or null"));
        }
        let stored = json!({ "feedback": feedback, "feedback_reason": params.feedback_reason });
        // A rating is no statement, and is not reviewed.
        let change = |record: &mut Record| {
            match &feedback {
                Some(_) => drop(record.metadata.insert(metadata::FEEDBACK.into(), stored.clone())),
                None => drop(record.metadata.shift_remove(metadata::FEEDBACK)),
            }
            Ok(())
        };
        self.rewrite(access, id, None, change).await?;
        Ok(Feedback { id: id.to_string(), feedback, feedback_reason: params.feedback_reason })
    }
}
