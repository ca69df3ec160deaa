//! Stores messages, and the facts that are found in them.

use std::time::Duration;

use memory_engine::{
    Error, ErrorKind, Kind, PutMode, Record, RecordId, Role, Scope, State, Timestamp, Trust, admin::EnrichmentReport,
    enrichment::fact_keys,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    error::Mem0Error,
    history,
    messages::{Message, Messages},
    metadata,
    owner::{self, Mem0Owner, OwnerParams},
    params::{Dialect, ParamGroup, Params, request},
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
    /// Extracts facts from the messages. With `false` the messages are stored as they are. Default: true.
    infer: Option<bool>,
    /// Only `procedural_memory` is known. It needs an `agent_id`.
    memory_type: Option<String>,
    /// The last day on which the memories are shown, as `YYYY-MM-DD`.
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
    owner: Mem0Owner,
    messages: Vec<Message>,
    metadata: Map<String, Value>,
    infer: bool,
    is_procedural: bool,
    at: Option<Timestamp>,
}

/// The stored memories.
#[derive(Debug)]
pub(super) struct Added {
    /// The id of the first stored record, which also identifies the event.
    pub(super) event: Option<RecordId>,
    pub(super) results: Vec<AddResult>,
    /// True if facts are still being extracted in the background.
    pub(super) is_pending: bool,
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
    /// The text again, where clients of the platform look for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<AddedText>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct AddedText {
    memory: String,
}

impl AddRequest {
    /// Checks a request.
    ///
    /// # Errors
    /// 400 for an invalid owner, type, day or time, and without an owner.
    pub(super) fn addition(self, dialect: Dialect, access: &Access) -> Result<AddInput, Mem0Error> {
        let Self { owner, messages: Messages(messages), options, .. } = self;
        let mut owner = owner.owner(dialect)?;
        let mut at = None;
        if dialect == Dialect::Platform {
            at = time::timestamp(options.timestamp.as_ref())?;
            if let Some(filter) = options.filters {
                owner = with_filter(owner, filter)?;
            }
        }
        owner.require(access)?;
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
        let mut kept: Map<String, Value> = metadata::stored(options.metadata.unwrap_or_default()).collect();
        if let Some(value) = &options.expiration_date {
            kept.insert(metadata::EXPIRES.into(), time::day("expiration_date", value)?.into());
        }
        if let Some(app) = &owner.app {
            kept.insert(metadata::APP.into(), app.as_str().into());
        }
        if options.immutable.unwrap_or(false) {
            kept.insert(metadata::IMMUTABLE.into(), true.into());
        }
        Ok(AddInput { owner, messages, metadata: kept, infer: options.infer.unwrap_or(true), is_procedural, at })
    }
}

/// Merges the owner that clients of the platform name in `filters`.
fn with_filter(owner: Mem0Owner, filter: Map<String, Value>) -> Result<Mem0Owner, Mem0Error> {
    let is_known = |name: &str| owner::NAMES.iter().any(|(plain, alias)| name == *plain || name == *alias);
    if let Some(name) = filter.keys().find(|name| !is_known(name)) {
        return Err(Mem0Error::bad_request(format!(
            "filters say whose memories they become; there is no {name:?} in them"
        )));
    }
    let params: OwnerParams = Params::new(filter, "body", Dialect::Platform).finish()?;
    let named = params.owner(Dialect::Platform)?;
    let merge = |here: Option<String>, there: Option<String>| match (here, there) {
        (Some(here), Some(there)) if here != there => {
            Err(Mem0Error::bad_request("the body and its filters name different owners"))
        }
        (here, there) => Ok(here.or(there)),
    };
    Ok(Mem0Owner {
        user: merge(owner.user, named.user)?,
        agent: merge(owner.agent, named.agent)?,
        run: merge(owner.run, named.run)?,
        app: merge(owner.app, named.app)?,
    })
}

impl Mem0 {
    /// Stores messages, and waits for their facts for `timeout` at most. It continues when the client disconnects.
    pub(super) async fn add(&self, access: &Access, addition: AddInput, timeout: Duration) -> Result<Added, Mem0Error> {
        let address = addition.owner.address(access)?;
        let mem0 = self.clone();
        let work = tokio::spawn(async move { mem0.store(&address, addition, timeout).await });
        work.await.map_err(|_| Error::new(ErrorKind::Internal, "add", "the task that stores it stopped"))?
    }

    async fn store(&self, address: &Scope, addition: AddInput, timeout: Duration) -> Result<Added, Mem0Error> {
        let extracts_facts = addition.infer && !addition.is_procedural;
        let records = self.records(address, addition);
        let Some(event) = records.first().map(|record| record.id) else {
            return Ok(Added { event: None, results: Vec::new(), is_pending: false });
        };
        if !extracts_facts {
            let results = records.iter().map(AddResult::verbatim).collect();
            self.engine.store(address, records, PutMode::Create).await?;
            return Ok(Added { event: Some(event), results, is_pending: false });
        }
        let EnrichmentReport { facts, pending, .. } = self.engine.admin().enrich(address, records, timeout).await?;
        Ok(Added { event: Some(event), results: self.results(&facts).await?, is_pending: pending })
    }

    /// Makes a record of each message but instructions: a turn if facts are extracted from it, else a note. A
    /// procedure is one note.
    fn records(&self, address: &Scope, addition: AddInput) -> Vec<Record> {
        let AddInput { messages, metadata, infer, is_procedural, at, .. } = addition;
        let mut messages: Vec<Message> =
            messages.into_iter().filter(|message| !matches!(message.role.as_str(), "system" | "developer")).collect();
        if is_procedural && !messages.is_empty() {
            let lines: Vec<String> = messages.iter().map(|said| format!("{}: {}", said.role, said.text)).collect();
            messages = vec![Message { role: "assistant".into(), name: None, text: lines.join("\n") }];
        }
        let kind = if infer && !is_procedural { Kind::TURN } else { Kind::NOTE };
        let mut records: Vec<Record> = Vec::with_capacity(messages.len());
        for message in messages {
            let mut record = Record::new(address.clone(), kind.clone(), message.text, self.engine.clock());
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

    /// Reports what became of extracted facts: added, put in the place of others, or known already.
    pub(super) async fn results(&self, facts: &[Record]) -> Result<Vec<AddResult>, Mem0Error> {
        let mut results = Vec::new();
        for fact in facts {
            if let Some(known) = metadata::text(fact, fact_keys::MERGED_INTO) {
                results.push(AddResult { id: known.to_owned(), ..AddResult::new(fact, "NONE") });
                continue;
            }
            // A fact that was superseded at once is reported by the one that took its place.
            if fact.state != State::Active {
                continue;
            }
            let replaced = self.replaced_by(fact).await?;
            if history::denies(fact) {
                results.extend(replaced.iter().map(|former| AddResult::new(former, "DELETE")));
                results.push(AddResult::new(fact, "ADD"));
                continue;
            }
            results.push(match replaced.last() {
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
        }
    }

    /// A message that is stored as it is.
    pub(super) fn verbatim(record: &Record) -> Self {
        Self {
            actor_id: Some(record.named_speaker().map(str::to_owned)),
            role: Some(record.role.as_ref().map(|role| role.as_str().to_owned())),
            ..Self::new(record, "ADD")
        }
    }

    /// The form of the platform.
    pub(super) fn for_platform(self) -> Self {
        Self { data: Some(AddedText { memory: self.memory.clone() }), ..self }
    }
}
