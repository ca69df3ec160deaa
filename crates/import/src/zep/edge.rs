//! Edges of Graphiti and Zep: facts, with the time in which they hold.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Kind, RecordId, Timestamp};
use serde_json::{Map, Value};

use super::keys::{text, time};
use crate::{
    error::RowError,
    row::{ImportedTurn, is_blank},
    validity::set_validity,
};

/// The parts of the graph that edges refer to.
pub(super) struct Graph {
    /// Names of nodes by their ids.
    pub(super) nodes: BTreeMap<String, String>,
    /// Ids of the records that are made of episodes and messages.
    pub(super) sources: BTreeSet<RecordId>,
}

/// Returns the fact of an edge.
pub(super) fn read(keys: &Map<String, Value>, graph: &Graph, now: Timestamp) -> Result<ImportedTurn, RowError> {
    let Some(fact) = text(keys, "fact") else { return Err(RowError::NoText("it has no \"fact\"; every edge has one")) };
    let mut turn = ImportedTurn { seed: Value::Object(keys.clone()).to_string(), ..ImportedTurn::default() };
    turn.set("text", fact);
    turn.set("kind", Kind::FACT.as_str());
    turn.set("id", keys.get("uuid").cloned().unwrap_or_default());
    turn.set("time", time(keys, &["valid_at", "reference_time", "created_at"]));
    // `expired_at` is the time at which the graph learned that the fact does not hold.
    set_validity(&mut turn, time(keys, &["valid_at"]), time(keys, &["invalid_at", "expired_at"]), now);
    let entities: Vec<&str> = ["source", "target"].iter().filter_map(|end| end_name(keys, end, graph)).collect();
    turn.set("entities", entities);
    let episodes = ["episodes", "episode_uuids"].iter().find_map(|name| keys.get(*name)?.as_array());
    let records = episodes.into_iter().flatten().filter_map(|id| id.as_str()?.parse::<RecordId>().ok());
    let sources: Vec<String> = records.filter(|id| graph.sources.contains(id)).map(|id| id.to_string()).collect();
    turn.set("derived_from", sources);
    let mut metadata = Map::new();
    for (key, name) in [
        ("zep.relation", "name"),
        ("zep.source_node", "source_node_uuid"),
        ("zep.target_node", "target_node_uuid"),
        ("zep.attributes", "attributes"),
    ] {
        let is_set = |value: &&Value| !is_blank(value) && value.as_object().is_none_or(|object| !object.is_empty());
        if let Some(value) = keys.get(name).filter(is_set) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    turn.set("metadata", metadata);
    Ok(turn)
}

/// Returns the name of the node at an end of an edge.
fn end_name<'k>(keys: &'k Map<String, Value>, end: &str, graph: &'k Graph) -> Option<&'k str> {
    let name = text(keys, &format!("{end}_node_name"));
    name.or_else(|| graph.nodes.get(text(keys, &format!("{end}_node_uuid"))?).map(String::as_str))
}
