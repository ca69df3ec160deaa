//! Reads the conversations of a data export of Claude.

use std::{io::BufRead, path::Path};

use serde_json::{Map, Value, json};

use crate::{
    error::{ImportError, RowError},
    exports::{self, ExportFormat},
    row::{ImportRows, ImportedTurn, Row, is_blank},
};

const FORMAT: ExportFormat =
    ExportFormat { program: "Claude", key: "chat_messages", title: "name", read: read_conversation };

/// Reads the conversations. A row is a conversation.
///
/// Calls and results of tools and thoughts of the model are skipped; the names of attached files become metadata. The
/// id of a conversation becomes the session, and the id of a message the id of its turn.
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
    let Some(messages) = conversation.get("chat_messages").and_then(Value::as_array) else {
        return Err(RowError::WrongType { key: "chat_messages", expected: "list of messages" });
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
