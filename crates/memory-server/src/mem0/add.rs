//! Messages become memories.

use memory_engine::{
    Error, ErrorKind, Kind, Learned, PutMode, Record, RecordId, Role, Scope, State, Timestamp, Trust,
    summarizer::fact_keys,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

use super::{Mem0, failure::Failure, fields::Fields, filters, history, marks, memory, owner, owner::Named};
use crate::Access;

/// What is to be stored.
#[derive(Debug)]
pub(super) struct Addition {
    owner: Named,
    messages: Vec<Message>,
    metadata: Map<String, Value>,
    infer: bool,
    procedural: bool,
    at: Option<Timestamp>,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Added {
    /// The id of the first record that was stored; with it the event can be asked for.
    pub(super) event: Option<RecordId>,
    /// What was made of it, as mem0 tells it.
    pub(super) results: Vec<Value>,
    /// Whether more is still to be made of it.
    pub(super) pending: bool,
}

#[derive(Debug)]
struct Message {
    role: String,
    name: Option<String>,
    text: String,
}

impl Addition {
    /// Reads what is to be stored.
    pub(super) fn read(fields: &mut Fields, access: &Access) -> Result<Self, Failure> {
        let mut owner = Named::read(fields)?;
        fields.require("messages");
        let messages = fields.value("messages").cloned().unwrap_or_default();
        let metadata = fields.object("metadata").unwrap_or_default();
        let infer = fields.flag("infer").unwrap_or(true);
        let kind = fields.text("memory_type");
        let immutable = fields.flag("immutable").unwrap_or(false);
        let filter = if fields.is_platform() { fields.object("filters") } else { None };
        let at = if fields.is_platform() { memory::timestamp(fields)? } else { None };
        let messages = messages_of(&messages, fields);
        fields.check()?;
        if let Some(filter) = filter {
            owner = with_filter(owner, filter)?;
        }
        owner::somebody(&owner, access)?;
        let procedural = match kind.as_deref() {
            None => false,
            Some("procedural_memory") if owner.agent.is_some() => true,
            Some("procedural_memory") => {
                return Err(Failure::bad_request("memory_type 'procedural_memory' needs an agent_id"));
            }
            Some(_) => {
                return Err(Failure::bad_request(
                    "Invalid 'memory_type'. Please pass 'procedural_memory' to create procedural memories.",
                ));
            }
        };
        let mut kept: Map<String, Value> = marks::kept(metadata).collect();
        if let Some(value) = fields.value("expiration_date") {
            kept.insert(marks::EXPIRES.into(), filters::day("expiration_date", value)?.into());
        }
        if let Some(app) = &owner.app {
            kept.insert(marks::APP.into(), app.as_str().into());
        }
        if immutable {
            kept.insert(marks::IMMUTABLE.into(), true.into());
        }
        Ok(Self { owner, messages, metadata: kept, infer, procedural, at })
    }
}

/// The platform's clients may name the owner in `filters`, and nothing else there.
fn with_filter(owner: Named, filter: Map<String, Value>) -> Result<Named, Failure> {
    let known = |name: &str| owner::NAMES.iter().any(|(plain, alias)| name == *plain || name == *alias);
    if let Some(name) = filter.keys().find(|name| !known(name)) {
        return Err(Failure::bad_request(format!(
            "filters say whose memories they become; there is no {name:?} in them"
        )));
    }
    let named = Named::read(&mut Fields::new(filter))?;
    let both = |here: Option<String>, there: Option<String>| match (here, there) {
        (Some(here), Some(there)) if here != there => {
            Err(Failure::bad_request("the body and its filters name different owners"))
        }
        (here, there) => Ok(here.or(there)),
    };
    Ok(Named {
        user: both(owner.user, named.user)?,
        agent: both(owner.agent, named.agent)?,
        run: both(owner.run, named.run)?,
        app: both(owner.app, named.app)?,
    })
}

/// The messages, without those that say nothing; a text alone is what a user said.
fn messages_of(value: &Value, fields: &mut Fields) -> Vec<Message> {
    let user = |text: &str| Message { role: "user".into(), name: None, text: text.to_owned() };
    let list = match value {
        Value::String(text) => {
            return Some(user(text)).filter(|said| !said.text.trim().is_empty()).into_iter().collect();
        }
        Value::Object(_) => std::slice::from_ref(value),
        Value::Array(list) => list.as_slice(),
        Value::Null => return Vec::new(),
        Value::Bool(_) | Value::Number(_) => {
            let _: Option<()> = fields.wrong("messages", "list_type", "Input should be a valid list");
            return Vec::new();
        }
    };
    let mut messages = Vec::new();
    for (n, message) in list.iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str).filter(|role| !role.trim().is_empty());
        let text = text_of(message.get("content").unwrap_or(&Value::Null));
        let (Some(role), Some(text)) = (role, text) else {
            let what = "a message has a role, and a content that is a text or a list of parts";
            let _: Option<()> = fields.wrong(&format!("messages.{n}"), "message_type", what);
            continue;
        };
        if text.trim().is_empty() {
            continue;
        }
        let name = message.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        messages.push(Message { role: role.to_owned(), name: name.map(str::to_owned), text });
    }
    messages
}

/// The text of a content: itself, or its parts that are text. Nothing when it is neither.
fn text_of(content: &Value) -> Option<String> {
    let part = |part: &Value| part.as_str().or_else(|| part.get("text").and_then(Value::as_str)).map(str::to_owned);
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Array(parts) => Some(parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")),
        Value::Object(_) => part(content),
        Value::Bool(_) | Value::Number(_) => None,
    }
}

impl Mem0 {
    /// Stores what was said, and what is to be remembered of it. Waits so long for what takes longer.
    ///
    /// It goes on when nobody waits any more: a client that hangs up loses nothing.
    pub(super) async fn add(&self, access: &Access, addition: Addition, patience: Duration) -> Result<Added, Failure> {
        let address = addition.owner.address(access)?;
        let mem0 = self.clone();
        let work = tokio::spawn(async move { mem0.store(&address, addition, patience).await });
        work.await.map_err(|_| Error::new(ErrorKind::Internal, "add", "the task that stores it stopped"))?
    }

    async fn store(&self, address: &Scope, addition: Addition, patience: Duration) -> Result<Added, Failure> {
        let (infer, procedural) = (addition.infer, addition.procedural);
        let records = self.records(address, addition);
        let Some(event) = records.first().map(|record| record.id) else {
            return Ok(Added { event: None, results: Vec::new(), pending: false });
        };
        if !infer || procedural {
            let results = records.iter().map(as_it_is).collect();
            self.engine.store(address, records, PutMode::Create).await?;
            return Ok(Added { event: Some(event), results, pending: false });
        }
        let Learned { facts, pending, .. } = self.engine.learn(address, records, patience).await?;
        Ok(Added { event: Some(event), results: self.told(&facts).await?, pending })
    }

    /// A record for each message but the instructions: a turn, where facts are looked for in it, and else a note. A procedure
    /// is one note.
    fn records(&self, address: &Scope, addition: Addition) -> Vec<Record> {
        let Addition { messages, metadata, infer, procedural, at, .. } = addition;
        let mut messages: Vec<Message> =
            messages.into_iter().filter(|said| !matches!(said.role.as_str(), "system" | "developer")).collect();
        if procedural && !messages.is_empty() {
            let lines: Vec<String> = messages.iter().map(|said| format!("{}: {}", said.role, said.text)).collect();
            messages = vec![Message { role: "assistant".into(), name: None, text: lines.join("\n") }];
        }
        let kind = if infer && !procedural { Kind::TURN } else { Kind::NOTE };
        let mut event = None;
        let mut record = |said: Message| {
            let mut record = Record::new(address.clone(), kind.clone(), said.text, self.engine.clock());
            let event = *event.get_or_insert(record.id);
            record.trust = match said.role.as_str() {
                "assistant" => Trust::Assistant,
                "tool" | "function" => Trust::Tool,
                _ => Trust::User,
            };
            record.role = Some(Role::new(said.role));
            record.speaker = said.name;
            record.occurred_at = at.unwrap_or(record.occurred_at);
            record.metadata.clone_from(&metadata);
            record.metadata.insert(marks::EVENT.into(), json!(event));
            if procedural {
                record.metadata.insert(marks::TYPE.into(), json!("procedural_memory"));
            }
            record
        };
        messages.into_iter().map(&mut record).collect()
    }

    /// What was made of facts that were found: added, put in the place of others, or nothing.
    pub(super) async fn told(&self, facts: &[Record]) -> Result<Vec<Value>, Failure> {
        let mut told = Vec::new();
        for fact in facts {
            if let Some(known) = marks::text(fact, fact_keys::MERGED_INTO) {
                told.push(json!({"id": known, "memory": fact.text, "event": "NONE"}));
                continue;
            }
            // What was superseded at once is told by what took its place.
            if fact.state != State::Active {
                continue;
            }
            let replaced = self.replaced_by(fact).await?;
            let denied = history::denies(fact);
            if denied {
                let gone = |former: &Record| json!({"id": former.id, "memory": former.text, "event": "DELETE"});
                told.extend(replaced.iter().map(gone));
            }
            match replaced.last().filter(|_| !denied) {
                Some(former) => told.push(json!({
                    "id": fact.id,
                    "memory": fact.text,
                    "event": "UPDATE",
                    "previous_memory": former.text,
                    "previous_id": former.id,
                })),
                None => told.push(json!({"id": fact.id, "memory": fact.text, "event": "ADD"})),
            }
        }
        Ok(told)
    }
}

/// A record that is stored as it is.
pub(super) fn as_it_is(record: &Record) -> Value {
    json!({
        "id": record.id,
        "memory": record.text,
        "event": "ADD",
        "actor_id": record.named_speaker(),
        "role": record.role.as_ref().map(Role::as_str),
    })
}
