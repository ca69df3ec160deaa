//! Reads agent files of Letta (`.af`), in the format of version 0.7 and in that of later ones.

use std::{collections::BTreeMap, io::Read};

use memory_engine_core::{Kind, RecordId};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    json_text::JsonText,
    row::{ImportRows, ImportedTurn, Row, is_blank, take_first},
};

mod message;

/// Types of agents that work in the background: their prompts repeat the conversation of another agent.
const BACKGROUND_AGENTS: [&str; 2] = ["sleeptime_agent", "voice_sleeptime_agent"];

/// A file. The older format has the keys of its only agent at the top.
#[derive(Deserialize)]
struct AgentFile<'a> {
    #[serde(borrow)]
    agents: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    blocks: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    passages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    core_memory: Option<&'a RawValue>,
    created_at: Option<Value>,
}

#[derive(Deserialize)]
struct Agent<'a> {
    name: Option<String>,
    agent_type: Option<String>,
    block_ids: Option<Vec<String>>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    core_memory: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    memory_blocks: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    passages: Option<Vec<&'a RawValue>>,
}

/// Reads messages, memory blocks and archival passages. The input is an agent file, or the JSON list of passages that
/// the server returns. Each of them is one row.
///
/// The name of an agent becomes the agent of its records. System prompts, calls and results of tools, heartbeats,
/// summaries and other notices of the program are skipped. The ids in a file are numbers that belong to this file only:
/// the id of a message is computed from its agent, time and role, the id of a block from its agent and label. An id
/// with a UUID stays.
///
/// # Errors
/// If the file is not UTF-8, not JSON, or not an agent file.
pub fn read(input: impl Read) -> Result<ImportRows, ImportError> {
    let mut text = JsonText::read(input)?;
    // Some exports are a JSON string that contains the file.
    let inner = match text.documents()?.as_slice() {
        [document] if document.get().starts_with('"') => serde_json::from_str::<String>(document.get()).ok(),
        _ => None,
    };
    if let Some(inner) = inner {
        text = JsonText::new(inner);
    }
    let documents = text.documents()?;
    let [document] = documents.as_slice() else { return Err(ImportError::NoAgents) };
    let mut reader = AgentFileReader { text: &text, id_counts: BTreeMap::new(), rows: Vec::new() };
    if document.get().starts_with('[') {
        let passages: Vec<&RawValue> = serde_json::from_str(document.get()).map_err(|_| ImportError::NoAgents)?;
        reader.read_passages(&passages, None);
    } else {
        reader.read_file(document)?;
    }
    if reader.rows.is_empty() {
        return Err(ImportError::NoAgents);
    }
    Ok(Box::new(reader.rows.into_iter().map(Ok)))
}

struct AgentFileReader<'a> {
    text: &'a JsonText,
    /// The computed ids, with the number of times that each is used, to number those that occur twice.
    id_counts: BTreeMap<String, u64>,
    rows: Vec<Row>,
}

impl AgentFileReader<'_> {
    fn read_file(&mut self, document: &RawValue) -> Result<(), ImportError> {
        let file: AgentFile<'_> = serde_json::from_str(document.get()).map_err(|_| ImportError::NoAgents)?;
        let agents = match file.agents {
            Some(agents) => agents,
            None if file.core_memory.is_some() => vec![document],
            None => return Err(ImportError::NoAgents),
        };
        let mut agents_by_block: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
        for (agent, number) in agents.into_iter().zip(1..) {
            let Ok(parsed) = serde_json::from_str::<Agent<'_>>(agent.get()) else {
                self.push(agent, &format!("agent {number}"), |_| {
                    Err(RowError::NoText("the value is not a Letta agent"))
                });
                continue;
            };
            let name = parsed.name.as_deref().filter(|name| !name.trim().is_empty());
            let is_background = parsed.agent_type.as_deref().is_some_and(|kind| BACKGROUND_AGENTS.contains(&kind));
            if !is_background {
                for id in parsed.block_ids.iter().flatten() {
                    agents_by_block.entry(id.clone()).or_default().push(name.map(str::to_owned));
                }
                self.read_messages(parsed.messages.as_deref().unwrap_or_default(), name);
            }
            for block in parsed.core_memory.iter().chain(&parsed.memory_blocks).flatten() {
                self.read_block(block, |_| name.map(str::to_owned), file.created_at.as_ref());
            }
            self.read_passages(parsed.passages.as_deref().unwrap_or_default(), name);
        }
        // A block that several agents share belongs to none of them.
        let only_agent = |id: &str| match agents_by_block.get(id).map(Vec::as_slice) {
            Some([name]) => name.clone(),
            _ => None,
        };
        for block in file.blocks.unwrap_or_default() {
            self.read_block(block, only_agent, file.created_at.as_ref());
        }
        self.read_passages(&file.passages.unwrap_or_default(), None);
        Ok(())
    }

    fn read_messages(&mut self, messages: &[&RawValue], agent: Option<&str>) {
        for (value, number) in messages.iter().zip(1..) {
            self.push(value, &format!("message {number}"), |reader| {
                let keys = object(value.get())?;
                let Some(mut turn) = message::read(&keys)? else { return Ok(None) };
                turn.set("agent", agent);
                turn.set("sequence", number);
                turn.seed = value.get().to_owned();
                let id = global_id(&keys).or_else(|| {
                    let time = turn.keys.get("time").and_then(Value::as_str)?;
                    let role = turn.keys.get("role").and_then(Value::as_str)?;
                    Some(reader.unique_id(format!("{}/{time}/{role}", agent.unwrap_or_default())))
                });
                turn.set("id", id);
                Ok(Some(turn))
            });
        }
    }

    fn read_block(&mut self, value: &RawValue, agent_of: impl Fn(&str) -> Option<String>, file_time: Option<&Value>) {
        self.push(value, "memory block", |reader| {
            let mut keys = object(value.get())?;
            let Some(text) = take_first(&mut keys, &["value"]) else { return Ok(None) };
            let mut turn = note(text)?;
            let agent = agent_of(keys.get("id").and_then(Value::as_str).unwrap_or_default());
            let label = keys.get("label").and_then(Value::as_str).unwrap_or("block").to_owned();
            let id = global_id(&keys)
                .unwrap_or_else(|| reader.unique_id(format!("{}/block/{label}", agent.as_deref().unwrap_or_default())));
            turn.set("id", id);
            turn.set("agent", agent);
            turn.set("tags", vec![label]);
            let time = take_first(&mut keys, &["updated_at", "created_at"]).or_else(|| file_time.cloned());
            turn.set("time", time.map(message::utc_time));
            let description = keys.remove("description").filter(|description| !is_blank(description));
            turn.set("metadata", Map::from_iter(description.map(|text| ("description".to_owned(), text))));
            Ok(Some(turn))
        });
    }

    fn read_passages(&mut self, passages: &[&RawValue], agent: Option<&str>) {
        for (value, number) in passages.iter().zip(1..) {
            self.push(value, &format!("passage {number}"), |_| {
                let mut keys = object(value.get())?;
                let Some(text) = take_first(&mut keys, &["text"]) else {
                    return Err(RowError::NoText("it has no \"text\"; an archival passage of Letta has one"));
                };
                let mut turn = note(text)?;
                turn.seed = value.get().to_owned();
                turn.set("agent", agent);
                turn.set("id", global_id(&keys));
                turn.set("tags", keys.remove("tags").unwrap_or_default());
                turn.set("time", take_first(&mut keys, &["created_at"]).map(message::utc_time));
                let metadata = keys.remove("metadata").filter(Value::is_object);
                turn.set("metadata", metadata.unwrap_or_default());
                Ok(Some(turn))
            });
        }
    }

    /// Adds a row with the result of `read`.
    fn push(
        &mut self,
        value: &RawValue,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<Option<ImportedTurn>, RowError>,
    ) {
        let turns = read(self).map(|turn| turn.into_iter().collect());
        let number = self.rows.len() as u64 + 1;
        let place = format!("line {}, {name}", self.text.line(value));
        self.rows.push(Row { place, number, bytes: value.get().len() as u64, turns });
    }

    /// Returns a name that no earlier call returned: the given one, or that with a number.
    fn unique_id(&mut self, name: String) -> String {
        loop {
            let count = self.id_counts.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                return name;
            }
            let numbered = format!("{name}/{count}");
            // The numbered name may be the name of another block.
            if self.id_counts.insert(numbered.clone(), 1).is_none() {
                return numbered;
            }
        }
    }
}

fn note(text: Value) -> Result<ImportedTurn, RowError> {
    let Value::String(text) = text else { return Err(RowError::WrongType { key: "value", expected: "text" }) };
    let mut turn = ImportedTurn::default();
    turn.set("text", text.trim());
    turn.set("kind", Kind::NOTE.as_str());
    Ok(turn)
}

/// Returns the id of an object if it is the same in every file: `message-` and a UUID, but not `message-3`.
fn global_id(keys: &Map<String, Value>) -> Option<String> {
    let id = keys.get("id")?.as_str()?;
    let has_uuid = id.split_once('-').is_some_and(|(_, rest)| rest.parse::<RecordId>().is_ok());
    (has_uuid || id.parse::<RecordId>().is_ok()).then(|| id.to_owned())
}

#[cfg(test)]
mod tests;
