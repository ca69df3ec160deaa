//! Reads transcripts of Claude Code: the files in `~/.claude/projects`.

use std::path::Path;

use memory_engine_intake::prompt_words;
use serde_json::{Map, Value};

use crate::{
    chat_files::{self, Message, ReadLine},
    error::ImportError,
    row::ImportRows,
};

/// Reads a transcript, or all transcripts in a folder. Returns the rows, and the size of the files in bytes.
///
/// Sub-agents, tools, commands, summaries and notices of the program are skipped. Of the messages of the model between
/// two prompts only the last one becomes a turn.
///
/// # Errors
/// If the path cannot be read, or a folder has no transcript.
pub fn rows(path: &Path) -> Result<(ImportRows, u64), ImportError> {
    chat_files::rows::<ClaudeCode>(path)
}

#[derive(Default)]
struct ClaudeCode;

impl ReadLine for ClaudeCode {
    fn read_line(&mut self, object: &Map<String, Value>, _: u64) -> Option<Message> {
        let is_user = match object.get("type")?.as_str()? {
            "user" => true,
            "assistant" => false,
            _ => return None,
        };
        let is_set = |key: &str| object.get(key).and_then(Value::as_bool) == Some(true);
        if is_set("isMeta") || is_set("isSidechain") || is_set("isCompactSummary") || is_set("isApiErrorMessage") {
            return None;
        }
        let text = content_text(object.get("message")?.get("content")?)?;
        Some(Message {
            is_user,
            text: if is_user { prompt_words(&text)? } else { text },
            id: object.get("uuid").cloned().unwrap_or_default(),
            time: object.get("timestamp").cloned().unwrap_or_default(),
            session: object.get("sessionId").and_then(Value::as_str).map(str::to_owned),
        })
    }
}

/// Returns the text of a message. `None` if it consists of calls or results of tools, thoughts or images.
fn content_text(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let is_text = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("text");
            let texts: Vec<&str> =
                blocks.iter().filter(is_text).filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
