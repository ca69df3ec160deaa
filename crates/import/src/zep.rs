//! Reads what the interfaces of Zep and Graphiti return as JSON: messages of a thread, episodes and edges of a graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use memory_engine_core::{RecordId, Timestamp};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::{ImportError, RowError},
    json_lines::object,
    json_text::JsonText,
    row::{ImportedTurn, Row, SourceRows, is_blank},
};

mod edge;
mod episode;
mod keys;
mod message;

use edge::Graph;
use keys::text;

/// The keys of an answer that hold lists of messages, episodes, edges or nodes. `items` is a page of Zep's version 4,
/// `relevant_facts` a memory of its version 2.
const LISTS: [&str; 6] = ["messages", "items", "episodes", "edges", "nodes", "relevant_facts"];
/// The keys of an answer that hold for all of its items.
const SHARED_KEYS: [&str; 6] = ["user_id", "user_uuid", "group_id", "thread_id", "thread_uuid", "session_id"];

/// Reads messages, episodes and edges: answers of the interfaces, lists, or single objects, one JSON value after
/// another.
///
/// A message and an episode of the type `message` become turns, another episode a note, and the fact of an edge a fact
/// with the time in which it holds. An edge that is no longer valid becomes superseded. Messages of the system and of
/// tools, nodes and triples are skipped. The `uuid` becomes the id.
///
/// # Errors
/// If the file is not UTF-8, not JSON, or contains none of these.
pub fn read(input: impl Read) -> Result<SourceRows, ImportError> {
    read_at(input, jiff::Timestamp::now().into())
}

/// As [`read`]: edges whose validity ends by `now` are superseded.
fn read_at(input: impl Read, now: Timestamp) -> Result<SourceRows, ImportError> {
    let text = JsonText::read(input)?;
    let mut items = Items { text: &text, items: Vec::new(), is_partial: false };
    for document in text.documents()? {
        items.add_document(document);
    }
    let Items { items, is_partial, .. } = items;
    if !items.iter().any(|item| item.keys.as_ref().is_ok_and(is_known)) {
        return Err(ImportError::NoEpisodes);
    }
    let graph = graph_of(&items);
    let rows: Vec<_> = items.into_iter().zip(1..).map(|(item, number)| Ok(item.read(number, &graph, now))).collect();
    let notice = is_partial.then_some("the file is one page of several; the others are not imported");
    Ok(SourceRows { notice, ..SourceRows::new(rows.into_iter()) })
}

/// A message, an episode, an edge or a node, with the keys that its answer has for all items.
struct Item {
    place: String,
    bytes: u64,
    keys: Result<Map<String, Value>, RowError>,
}

/// Collects the items of a file.
struct Items<'a> {
    text: &'a JsonText,
    items: Vec<Item>,
    is_partial: bool,
}

impl Items<'_> {
    fn add_document(&mut self, document: &RawValue) {
        if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(document.get()) {
            elements.into_iter().for_each(|element| self.add(element, &Map::new()));
            return;
        }
        let Ok(answer) = serde_json::from_str::<BTreeMap<String, &RawValue>>(document.get()) else {
            self.add(document, &Map::new());
            return;
        };
        let lists = LISTS.iter().filter_map(|name| {
            let elements = serde_json::from_str::<Vec<&RawValue>>(answer.get(*name)?.get()).ok()?;
            Some((*name, elements))
        });
        let lists: Vec<(&str, Vec<&RawValue>)> = lists.collect();
        if lists.is_empty() {
            self.add(document, &Map::new());
            return;
        }
        let value = |name: &str| answer.get(name).and_then(|value| serde_json::from_str::<Value>(value.get()).ok());
        let shared = SHARED_KEYS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?)));
        let shared: Map<String, Value> = shared.filter(|(_, value)| !is_blank(value)).collect();
        let total = value("total_count").and_then(|total| total.as_u64()).unwrap_or_default();
        let message_count = lists.iter().find(|(name, _)| *name == "messages").map_or(0, |(_, list)| list.len() as u64);
        let has_next_page = value("next_cursor").is_some_and(|cursor| !is_blank(&cursor));
        self.is_partial |= has_next_page || total > message_count;
        for (_, elements) in lists {
            elements.into_iter().for_each(|element| self.add(element, &shared));
        }
    }

    fn add(&mut self, value: &RawValue, shared: &Map<String, Value>) {
        let keys = object(value.get()).map(|mut keys| {
            for (name, value) in shared {
                if keys.get(name).is_none_or(is_blank) {
                    keys.insert(name.clone(), value.clone());
                }
            }
            keys
        });
        let place = format!("line {}", self.text.line(value));
        self.items.push(Item { place, bytes: value.get().len() as u64, keys });
    }
}

/// Returns the parts of the graph that the edges of a file refer to.
fn graph_of(items: &[Item]) -> Graph {
    let mut graph = Graph { nodes: BTreeMap::new(), sources: BTreeSet::new() };
    for keys in items.iter().filter_map(|item| item.keys.as_ref().ok()) {
        let Some(id) = text(keys, "uuid") else { continue };
        if is_node(keys) {
            graph.nodes.extend(text(keys, "name").map(|name| (id.to_owned(), name.to_owned())));
        } else if let Ok(turns) = read_source(keys)
            && turns.iter().any(|turn| turn.keys.get("id").and_then(Value::as_str) == Some(id))
        {
            graph.sources.extend(id.parse::<RecordId>());
        }
    }
    graph
}

impl Item {
    fn read(self, number: u64, graph: &Graph, now: Timestamp) -> Row {
        let turns = self.keys.and_then(|keys| {
            let mut turns = if is_edge(&keys) { vec![edge::read(&keys, graph, now)?] } else { read_source(&keys)? };
            for turn in &mut turns {
                set_scope(turn, &keys);
            }
            Ok(turns)
        });
        Row { place: self.place, number, bytes: self.bytes, turns }
    }
}

/// Reads a message or an episode. A node has no turns.
fn read_source(keys: &Map<String, Value>) -> Result<Vec<ImportedTurn>, RowError> {
    if is_node(keys) || is_edge(keys) {
        return Ok(Vec::new());
    }
    if !keys.contains_key("content") {
        return Err(RowError::NoText("it has no \"content\", as a message or an episode, and no \"fact\", as an edge"));
    }
    if is_episode(keys) { episode::read(keys) } else { message::read(keys).map(|turn| turn.into_iter().collect()) }
}

fn set_scope(turn: &mut ImportedTurn, keys: &Map<String, Value>) {
    // Graphiti's names of the only graph.
    let is_default = |value: &&Value| value.as_str() == Some("_");
    let first = |names: &[&str]| {
        names.iter().filter_map(|name| keys.get(*name)).find(|value| !is_blank(value) && !is_default(value)).cloned()
    };
    turn.set("user", first(&["user_id", "user_uuid", "group_id"]));
    turn.set("session", first(&["thread_id", "thread_uuid", "session_id"]));
}

fn is_known(keys: &Map<String, Value>) -> bool {
    is_node(keys) || is_edge(keys) || (keys.contains_key("content") && (keys.contains_key("role") || is_episode(keys)))
}

fn is_edge(keys: &Map<String, Value>) -> bool {
    keys.contains_key("fact") || keys.contains_key("source_node_uuid")
}

fn is_episode(keys: &Map<String, Value>) -> bool {
    ["source", "source_description", "valid_at"].iter().any(|name| keys.get(*name).is_some_and(Value::is_string))
}

fn is_node(keys: &Map<String, Value>) -> bool {
    keys.contains_key("name") && (keys.contains_key("summary") || keys.contains_key("labels")) && {
        !keys.contains_key("content") && !is_edge(keys)
    }
}

#[cfg(test)]
mod tests;
