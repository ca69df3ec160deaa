//! Reads the file `conversations.json` of a data export of Claude.

use std::io::BufRead;

use serde_json::{Map, Value, json};

use crate::{
    error::{ImportError, RowError},
    json_array::JsonArray,
    row::{ImportedTurn, Row, is_blank},
};

/// Reads the conversations. A row is a conversation.
///
/// Calls and results of tools and thoughts of the model are skipped; the names of attached files become metadata. The
/// id of a conversation becomes the session, and the id of a message the id of its turn.
pub fn rows(input: impl BufRead) -> impl Iterator<Item = Result<Row, ImportError>> {
    JsonArray::new(input).zip(1..).map(|(element, number)| {
        let (conversation, bytes) = element?;
        let name = conversation.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = format!("conversation {number} ({name})");
        if conversation.get("chat_messages").is_none() && number == 1 {
            return Err(ImportError::NoConversations { program: "Claude", key: "chat_messages" });
        }
        Ok(Row { place, number, bytes, turns: read_conversation(&conversation) })
    })
}

fn read_conversation(conversation: &Value) -> Result<Vec<ImportedTurn>, RowError> {
    let Some(messages) = conversation.get("chat_messages").and_then(Value::as_array) else {
        return Err(RowError::WrongType { key: "chat_messages", expected: "a list of messages" });
    };
    let mut turns = Vec::new();
    for message in messages {
        let Some(mut turn) = read_message(message) else { continue };
        turn.set("session", conversation.get("uuid").cloned().unwrap_or_default());
        let mut metadata = Map::new();
        if let Some(name) = conversation.get("name").filter(|name| !is_blank(name)) {
            metadata.insert("title".into(), name.clone());
        }
        let files = attached_files(message);
        if !files.is_empty() {
            metadata.insert("attachments".into(), json!(files));
        }
        turn.set("metadata", metadata);
        turn.set("sequence", turns.len() + 1);
        turns.push(turn);
    }
    Ok(turns)
}

/// Returns the turn of a message, or `None` if it has no text.
fn read_message(message: &Value) -> Option<ImportedTurn> {
    let role = match message.get("sender")?.as_str()? {
        "human" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_text = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("text");
    let texts: Vec<&str> = blocks.iter().filter(is_text).filter_map(|block| block.get("text")?.as_str()).collect();
    let text = match texts.is_empty() {
        // Older exports have only the whole text.
        true => message.get("text")?.as_str()?.to_owned(),
        false => texts.join("\n"),
    };
    if text.trim().is_empty() {
        return None;
    }
    let mut turn = ImportedTurn::default();
    turn.set("text", text);
    turn.set("role", role);
    turn.set("id", message.get("uuid").cloned().unwrap_or_default());
    turn.set("time", message.get("created_at").cloned().unwrap_or_default());
    Some(turn)
}

fn attached_files(message: &Value) -> Vec<&str> {
    let lists = ["attachments", "files"].map(|key| message.get(key).and_then(Value::as_array));
    let files = lists.into_iter().flatten().flatten();
    files.filter_map(|file| file.get("file_name")?.as_str().filter(|name| !name.is_empty())).collect()
}

#[cfg(test)]
mod tests;
