//! Reads the conversations of a data export of ChatGPT.

use std::{collections::BTreeSet, io::BufRead, path::Path};

use serde_json::{Map, Value};

use crate::{
    error::{ImportError, RowError},
    exports::{self, ExportFormat},
    row::{ImportRows, ImportedTurn, Row, convert_time, is_blank},
};

/// The types of content that are words of a participant.
const CONTENT_TYPES: [&str; 2] = ["text", "multimodal_text"];

const FORMAT: ExportFormat =
    ExportFormat { program: "ChatGPT", key: "mapping", title: "title", read: read_conversation };

/// Reads the conversations. A row is a conversation: the branch that ends with its current message.
///
/// Messages of the system and of tools, calls of tools, hidden messages and images are skipped. The id of a
/// conversation becomes the session, and the id of a message the id of its turn.
pub fn rows(input: impl BufRead + 'static) -> impl Iterator<Item = Result<Row, ImportError>> {
    exports::conversations(input, FORMAT)
}

/// Reads the conversations of a file, or of all files `conversations….json` in a folder or a ZIP archive, as
/// [`rows`] does. Returns the rows, and the size of the files in bytes.
///
/// # Errors
/// If the path cannot be read, or a folder or an archive has no such file.
pub fn export_rows(path: &Path) -> Result<(ImportRows, u64), ImportError> {
    exports::rows(path, FORMAT)
}

fn read_conversation(conversation: &Value) -> Result<Vec<ImportedTurn>, RowError> {
    let Some(nodes) = conversation.get("mapping").and_then(Value::as_object) else {
        return Err(RowError::WrongType { key: "mapping", expected: "object of messages" });
    };
    let id = ["conversation_id", "id"].iter().find_map(|key| conversation.get(*key)?.as_str());
    let mut turns = Vec::new();
    for node in branch(nodes, conversation.get("current_node").and_then(Value::as_str)) {
        let Some(mut turn) = node.get("message").and_then(read_message) else { continue };
        turn.set("session", id);
        if let Some(title) = conversation.get("title").filter(|title| !is_blank(title)) {
            turn.set("metadata", Map::from_iter([("title".to_owned(), title.clone())]));
        }
        turn.set("sequence", turns.len() + 1);
        turns.push(turn);
    }
    Ok(turns)
}

/// Returns the messages from the first one to this one, or to the newest one if it is not known.
fn branch<'c>(nodes: &'c Map<String, Value>, last: Option<&str>) -> Vec<&'c Value> {
    let newest = || {
        let time = |node: &Value| node.pointer("/message/create_time").and_then(Value::as_f64).unwrap_or(f64::MIN);
        nodes.iter().max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b))).map(|(id, _)| id.as_str())
    };
    let mut next = last.filter(|id| nodes.contains_key(*id)).or_else(newest);
    let mut seen = BTreeSet::new();
    let mut branch = Vec::new();
    while let Some((id, node)) = next.and_then(|id| nodes.get_key_value(id)) {
        // A file with a circle of parents would have no end.
        if !seen.insert(id) {
            break;
        }
        branch.push(node);
        next = node.get("parent").and_then(Value::as_str);
    }
    branch.reverse();
    branch
}

/// Returns the turn of a message, or `None` if it is not the words of a participant.
fn read_message(message: &Value) -> Option<ImportedTurn> {
    let role = message.pointer("/author/role")?.as_str().filter(|role| ["user", "assistant"].contains(role))?;
    let is_hidden = |key: &str| message.pointer(key).and_then(Value::as_bool) == Some(true);
    if is_hidden("/metadata/is_visually_hidden_from_conversation") || is_hidden("/metadata/is_user_system_message") {
        return None;
    }
    // A message to a tool is a call of it.
    if message.get("recipient").and_then(Value::as_str).is_some_and(|recipient| recipient != "all") {
        return None;
    }
    message.pointer("/content/content_type")?.as_str().filter(|kind| CONTENT_TYPES.contains(kind))?;
    let parts = message.pointer("/content/parts")?.as_array()?;
    let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
    let text = texts.join("\n");
    if text.trim().is_empty() {
        return None;
    }
    let mut turn = ImportedTurn::default();
    turn.set("text", text);
    turn.set("role", role);
    turn.set("id", message.get("id").cloned().unwrap_or_default());
    if let Some(time) = message.get("create_time").filter(|time| !time.is_null()) {
        turn.set("time", convert_time(time));
    }
    Some(turn)
}

/// Returns a text, or the transcript of a spoken message.
fn part_text(part: &Value) -> Option<&str> {
    let text = part.as_str().or_else(|| part.get("text")?.as_str())?;
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
