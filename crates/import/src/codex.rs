//! Reads transcripts of Codex: the files `rollout-….jsonl` in `~/.codex/sessions`.

use std::path::Path;

use memory_engine_intake::prompt_words;
use serde_json::{Map, Value, json};

use crate::{
    chat_files::{self, Message, ReadLine},
    error::ImportError,
    row::ImportRows,
};

/// Reads a transcript, or all transcripts in a folder. Returns the rows, and the size of the files in bytes.
///
/// Instructions, the description of the environment, tools and reasoning are skipped. Of the messages of the model
/// between two prompts only the last one becomes a turn.
///
/// # Errors
/// If the path cannot be read, or a folder has no transcript.
pub fn rows(path: &Path) -> Result<(ImportRows, u64), ImportError> {
    chat_files::rows::<Codex>(path)
}

#[derive(Default)]
struct Codex {
    session: Option<String>,
}

impl ReadLine for Codex {
    fn read_line(&mut self, object: &Map<String, Value>, line: u64) -> Option<Message> {
        // Older files have the item itself on the line, and the session on the first line.
        let item = object.get("payload").and_then(Value::as_object).unwrap_or(object);
        let kind = object.get("type").and_then(Value::as_str);
        if kind == Some("session_meta") || (kind.is_none() && line == 1) {
            self.session = item.get("id").and_then(Value::as_str).map(str::to_owned);
            return None;
        }
        if item.get("type")?.as_str()? != "message" {
            return None;
        }
        let is_user = match item.get("role")?.as_str()? {
            "user" => true,
            "assistant" => false,
            _ => return None,
        };
        let blocks = item.get("content")?.as_array()?;
        let is_text = |block: &&Value| {
            let kind = block.get("type").and_then(Value::as_str);
            kind == Some("input_text") || kind == Some("output_text")
        };
        let texts: Vec<&str> = blocks.iter().filter(is_text).filter_map(|block| block.get("text")?.as_str()).collect();
        let text = texts.join("\n");
        let text = if is_user { prompt_words(&text)? } else { text };
        if text.trim().is_empty() {
            return None;
        }
        // Messages have no ids. Lines are only appended to a file.
        let id = self.session.as_ref().map(|session| json!(format!("{session}/{line}")));
        Some(Message {
            is_user,
            text,
            id: id.unwrap_or_default(),
            time: object.get("timestamp").cloned().unwrap_or_default(),
            session: self.session.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
