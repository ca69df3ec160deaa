//! Stores messages, and the facts extracted from them.

use std::{borrow::Cow, time::Duration};

use jiff::tz::TimeZone;
use memory_engine::{
    Error, ErrorKind, Kind, PutMode, Record, RecordId, Role, Scope, State, Timestamp, Trust,
    admin::EnrichmentReport,
    audit::{AuditContext, in_context},
    enrichment::fact_keys,
    review::ReviewSource,
    store::repetitions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    error::Mem0Error,
    history,
    messages::{Mem0Message, Messages},
    metadata,
    owner::{self, MemoryOwner, OwnerParams},
    params::{Mem0Api, ParamGroup, Params, request},
    responses::MEMORY_WAITS,
    selection::FormatParam,
    service::Mem0,
    time,
};
use crate::access::Access;

request! {
    /// A request to add memories.
    AddRequest { owner: OwnerParams, messages: Messages, options: AddParams, pub(super) format: FormatParam }
}

/// The options of a request to add memories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct AddParams {
    metadata: Option<Map<String, Value>>,
    /// Extracts facts from the messages. With `false` their own words become notes. Default: true.
    infer: Option<bool>,
    /// Only `procedural_memory` is supported. It requires an `agent_id`.
    memory_type: Option<String>,
    /// The last day on which the memories are shown, as `YYYY-MM-DD`. Default: no limit.
    expiration_date: Option<Value>,
    /// Refuses changes to the memories. Default: false.
    immutable: Option<bool>,
    /// The owner, for clients of the platform.
    filters: Option<Map<String, Value>>,
    /// The time of the messages, in seconds since 1970 or as RFC 3339. For clients of the platform.
    timestamp: Option<Value>,
}

impl ParamGroup for AddParams {}

/// The input of an add request, ready to be stored.
#[derive(Debug)]
pub(super) struct AddInput {
    owner: MemoryOwner,
    messages: Vec<Mem0Message>,
    metadata: Map<String, Value>,
    infer: bool,
    is_procedural: bool,
    at: Option<Timestamp>,
    /// The time zone of the messages, if their time names one.
    zone: Option<TimeZone>,
}

/// The outcome of an add request.
#[derive(Debug)]
pub(super) struct AddOutcome {
    /// The id of the first stored record, which also identifies the event.
    pub(super) event: Option<RecordId>,
    pub(super) results: Vec<AddResult>,
    /// True if facts are still being extracted in the background.
    pub(super) is_pending: bool,
    /// True if the memories wait until a person accepts them.
    pub(super) waits_for_review: bool,
}

/// The result for one memory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct AddResult {
    id: String,
    memory: String,
    /// `ADD`, `UPDATE`, `DELETE` or `NONE`.
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_memory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_id: Option<String>,
    /// The speaker of a message that is stored as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Option<String>>,
    /// A copy of the text, for clients of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<AddedText>,
    /// Says that the memory waits until a person accepts it, or that a repeated message was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'static, str>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct AddedText {
    memory: String,
}

impl AddRequest {
    /// Checks a request, and converts it to the input to store.
    ///
    /// # Errors
    /// 400 for an invalid owner, type, day or time, and without an owner.
    pub(super) fn into_input(self, api: Mem0Api, access: &Access) -> Result<AddInput, Mem0Error> {
        let Self { owner, messages: Messages(messages), options, .. } = self;
        let mut owner = owner.owner()?;
        let (mut at, mut zone) = (None, None);
        // The open-source routes have neither a time nor filters.
        if api == Mem0Api::Platform {
            at = time::timestamp(options.timestamp.as_ref())?;
            zone = options.timestamp.as_ref().and_then(time::zone);
            if let Some(filter) = options.filters {
                owner = merge_owners(owner, filter_owner(filter)?)?;
            }
        }
        owner.require_named(access)?;
        let is_procedural = match options.memory_type.as_deref() {
            None => false,
            Some("procedural_memory") if owner.agent.is_some() => true,
            Some("procedural_memory") => {
                return Err(Mem0Error::bad_request("memory_type 'procedural_memory' needs an agent_id"));
            }
            Some(_) => {
                return Err(Mem0Error::bad_request(
                    "Invalid 'memory_type'. Please pass 'procedural_memory' to create procedural memories.",
                ));
            }
        };
        let mut stored_metadata: Map<String, Value> =
            metadata::to_stored(options.metadata.unwrap_or_default()).collect();
        if let Some(value) = &options.expiration_date {
            stored_metadata.insert(metadata::EXPIRES.into(), time::day("expiration_date", value)?.into());
        }
        if let Some(app) = &owner.app {
            stored_metadata.insert(metadata::APP.into(), app.as_str().into());
        }
        if options.immutable.unwrap_or(false) {
            stored_metadata.insert(metadata::IMMUTABLE.into(), true.into());
        }
        Ok(AddInput {
            owner,
            messages,
            metadata: stored_metadata,
            infer: options.infer.unwrap_or(true),
            is_procedural,
            at,
            zone,
        })
    }
}

/// Reads the owner that clients of the platform name in `filters`.
fn filter_owner(filter: Map<String, Value>) -> Result<MemoryOwner, Mem0Error> {
    let is_known = |name: &str| owner::NAMES.iter().any(|(plain, alias)| name == *plain || name == *alias);
    if let Some(name) = filter.keys().find(|name| !is_known(name)) {
        return Err(Mem0Error::bad_request(format!(
            "the filters of this request must contain only user_id, agent_id, run_id and app_id; found {name:?}"
        )));
    }
    let params: OwnerParams = Params::new(filter, "body", Mem0Api::Platform).finish()?;
    params.owner()
}

/// Combines the owners of a body and its filters.
fn merge_owners(body: MemoryOwner, filter: MemoryOwner) -> Result<MemoryOwner, Mem0Error> {
    Ok(MemoryOwner {
        user: merge_names(body.user, filter.user)?,
        agent: merge_names(body.agent, filter.agent)?,
        run: merge_names(body.run, filter.run)?,
        app: merge_names(body.app, filter.app)?,
    })
}

fn merge_names(body: Option<String>, filter: Option<String>) -> Result<Option<String>, Mem0Error> {
    if body.is_some() && filter.is_some() && body != filter {
        return Err(Mem0Error::bad_request("the body and its filters name different owners"));
    }
    Ok(body.or(filter))
}

impl Mem0 {
    /// Stores messages, and waits at most `timeout` for their facts. Storing continues if the client disconnects.
    pub(super) async fn add(
        &self,
        access: &Access,
        input: AddInput,
        timeout: Duration,
    ) -> Result<AddOutcome, Mem0Error> {
        let address = input.owner.address(access)?;
        let mem0 = self.clone();
        let zone = input.zone.clone();
        let store = async move { mem0.store(&address, input, timeout).await };
        let context = AuditContext::current();
        let zone = zone.or_else(|| context.zone().cloned());
        let task = tokio::spawn(in_context(context.with_zone(zone), store));
        task.await.map_err(|_| Error::new(ErrorKind::Internal, "add", "the task that stores the messages panicked"))?
    }

    async fn store(&self, address: &Scope, mut input: AddInput, timeout: Duration) -> Result<AddOutcome, Mem0Error> {
        if input.is_procedural {
            return self.store_messages(address, input, timeout).await;
        }
        let recorded = self.recorded_messages(address, std::mem::take(&mut input.messages)).await?;
        input.messages = recorded.kept;
        let outcome = self.store_messages(address, input, timeout).await?;
        for request in recorded.take_out_requests {
            // A client may repeat the request before later messages. It does not mean those of this call.
            self.engine.requests().mark_taken_out(address, &request).await?;
        }
        Ok(outcome)
    }

    async fn store_messages(
        &self,
        address: &Scope,
        input: AddInput,
        timeout: Duration,
    ) -> Result<AddOutcome, Mem0Error> {
        let extracts_facts = input.infer && !input.is_procedural;
        let records = self.records(address, input);
        let Some(event) = records.first().map(|record| record.id) else {
            return Ok(AddOutcome { event: None, results: Vec::new(), is_pending: false, waits_for_review: false });
        };
        if !extracts_facts {
            // Unlike the turns of a conversation, these are statements of the client.
            let source = ReviewSource::Tools;
            let stored = self.engine.review().store_from(source, address, records.clone(), PutMode::Create).await?;
            let waits_for_review = stored.iter().any(|stored| stored.is_pending);
            let result =
                |record| if waits_for_review { AddResult::waiting(record) } else { AddResult::verbatim(record) };
            let results = records.iter().map(result).collect();
            return Ok(AddOutcome { event: Some(event), results, is_pending: false, waits_for_review });
        }
        let enriched = self.engine.admin().enrich(address, records, timeout).await?;
        let EnrichmentReport { turns, counted, facts, pending, .. } = enriched;
        let mut results = self.fact_results(&facts).await?;
        let counting = self.engine.get_all(&address.namespace(), &counted).await?;
        let counting: Vec<Record> = counting.into_iter().flatten().collect();
        // A repeated message belongs to the event of the turn that counts it.
        let counting_event = counting.first().and_then(|turn| metadata::text(turn, metadata::EVENT)?.parse().ok());
        let event = counting_event.filter(|_| !turns.contains(&event)).unwrap_or(event);
        results.extend(counting.iter().map(AddResult::counted));
        Ok(AddOutcome { event: Some(event), results, is_pending: pending, waits_for_review: false })
    }

    /// Makes a record of each message, except for instructions to the model. The record is a turn if facts are
    /// extracted from it, otherwise a note. The messages of a procedure become one note.
    fn records(&self, address: &Scope, input: AddInput) -> Vec<Record> {
        let AddInput { messages, metadata, infer, is_procedural, at, .. } = input;
        let mut messages: Vec<Mem0Message> = messages.into_iter().filter(|message| !message.is_instruction()).collect();
        if is_procedural && !messages.is_empty() {
            let lines: Vec<String> =
                messages.iter().map(|message| format!("{}: {}", message.role, message.text)).collect();
            messages = vec![Mem0Message { role: "assistant".into(), name: None, text: lines.join("\n") }];
        }
        let kind = if infer && !is_procedural { Kind::TURN } else { Kind::NOTE };
        let mut records: Vec<Record> = Vec::with_capacity(messages.len());
        for message in messages {
            let mut record = Record::new(address.clone(), kind.clone(), message.text, self.engine.settings().clock());
            let event = records.first().map_or(record.id, |first| first.id);
            record.trust = match message.role.as_str() {
                "assistant" => Trust::Assistant,
                "tool" | "function" => Trust::Tool,
                _ => Trust::User,
            };
            record.role = Some(Role::new(message.role));
            record.speaker = message.name;
            record.occurred_at = at.unwrap_or(record.occurred_at);
            record.metadata.clone_from(&metadata);
            record.metadata.insert(metadata::EVENT.into(), json!(event));
            if is_procedural {
                record.metadata.insert(metadata::TYPE.into(), json!("procedural_memory"));
            }
            records.push(record);
        }
        records
    }

    /// Returns the events of extracted facts: `ADD` for a new one, `UPDATE` or `DELETE` for each that supersedes
    /// others, and `NONE` for one that was merged into a known fact.
    pub(super) async fn fact_results(&self, facts: &[Record]) -> Result<Vec<AddResult>, Mem0Error> {
        let mut results = Vec::new();
        for fact in facts {
            if let Some(known_id) = metadata::text(fact, fact_keys::MERGED_INTO) {
                results.push(AddResult { id: known_id.to_owned(), ..AddResult::new(fact, "NONE") });
                continue;
            }
            // A fact that is already superseded is part of the result of its successor.
            if fact.state != State::Active {
                continue;
            }
            let superseded = self.facts_superseded_by(fact).await?;
            if history::is_negation(fact) {
                results.extend(superseded.iter().map(|former| AddResult::new(former, "DELETE")));
                results.push(AddResult::new(fact, "ADD"));
                continue;
            }
            results.push(match superseded.last() {
                Some(former) => AddResult {
                    previous_memory: Some(former.text.clone()),
                    previous_id: Some(former.id.to_string()),
                    ..AddResult::new(fact, "UPDATE")
                },
                None => AddResult::new(fact, "ADD"),
            });
        }
        Ok(results)
    }
}

impl AddResult {
    fn new(record: &Record, event: &'static str) -> Self {
        Self {
            id: record.id.to_string(),
            memory: record.text.clone(),
            event,
            previous_memory: None,
            previous_id: None,
            actor_id: None,
            role: None,
            data: None,
            message: None,
        }
    }

    /// Returns the result for a message that is stored as it is.
    pub(super) fn verbatim(record: &Record) -> Self {
        Self {
            actor_id: Some(record.named_speaker().map(str::to_owned)),
            role: Some(record.role.as_ref().map(|role| role.as_str().to_owned())),
            ..Self::new(record, "ADD")
        }
    }

    /// Returns the result for a message that waits for a review.
    fn waiting(record: &Record) -> Self {
        Self { event: "NONE", message: Some(MEMORY_WAITS.into()), ..Self::verbatim(record) }
    }

    /// Returns the result for a repeated message, which this turn counts.
    fn counted(turn: &Record) -> Self {
        let count = repetitions(turn).unwrap_or_default();
        let message = format!("The message was said {count} times today; it is counted, and not stored again.");
        Self { event: "NONE", message: Some(message.into()), ..Self::verbatim(turn) }
    }

    /// Adds the fields that clients of the platform read.
    pub(super) fn for_platform(self) -> Self {
        Self { data: Some(AddedText { memory: self.memory.clone() }), ..self }
    }
}
