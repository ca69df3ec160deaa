//! Reading of a chat completion.

use serde_json::Value;

use crate::error::DialectError;

/// One part of a reply, in the order of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Text(String),
    Refusal(String),
    ToolCall { call_id: String, name: String, arguments: String },
}

/// The fields of a chat completion that both dialects use.
pub(crate) struct ChatReply {
    /// The id without the prefix `chatcmpl-`.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) created: u64,
    pub(crate) items: Vec<Item>,
    pub(crate) finish_reason: String,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) usage: Usage,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) cached: u64,
    pub(crate) reasoning: u64,
}

impl Usage {
    pub(crate) fn read(usage: &Value) -> Self {
        let cached = usage["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .or_else(|| usage["prompt_cache_hit_tokens"].as_u64());
        Self {
            prompt: usage["prompt_tokens"].as_u64().unwrap_or(0),
            completion: usage["completion_tokens"].as_u64().unwrap_or(0),
            cached: cached.unwrap_or(0),
            reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0),
        }
    }
}

/// The id of a completion or chunk, without its prefix.
pub(crate) fn bare_id(chat: &Value) -> String {
    let id = chat["id"].as_str().filter(|id| !id.is_empty()).unwrap_or("0");
    id.strip_prefix("chatcmpl-").unwrap_or(id).to_owned()
}

impl ChatReply {
    pub(crate) fn read(chat: &Value) -> Result<Self, DialectError> {
        let choice = &chat["choices"][0];
        let message = &choice["message"];
        if !message.is_object() {
            return Err(DialectError::invalid("choices[0].message", "an object in the reply of the upstream"));
        }
        let id = bare_id(chat);
        let mut items = Vec::new();
        if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
            items.push(Item::Text(text.to_owned()));
        }
        if let Some(text) = message["refusal"].as_str().filter(|text| !text.is_empty()) {
            items.push(Item::Refusal(text.to_owned()));
        }
        for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let function = &call["function"];
            let path = format!("choices[0].message.tool_calls[{index}].function.name");
            let name = function["name"].as_str().filter(|name| !name.is_empty());
            let call_id = call["id"].as_str().filter(|id| !id.is_empty());
            items.push(Item::ToolCall {
                call_id: call_id.map_or_else(|| format!("call_{id}_{index}"), str::to_owned),
                name: name.ok_or_else(|| DialectError::invalid(path, "the name of a function"))?.to_owned(),
                arguments: function["arguments"].as_str().unwrap_or("").to_owned(),
            });
        }
        Ok(Self {
            id,
            model: chat["model"].as_str().unwrap_or("").to_owned(),
            created: chat["created"].as_u64().unwrap_or(0),
            items,
            finish_reason: choice["finish_reason"].as_str().unwrap_or("stop").to_owned(),
            stop_sequence: choice["stop_reason"].as_str().map(str::to_owned),
            usage: Usage::read(&chat["usage"]),
        })
    }
}
