//! Requests and responses of chat services.

use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_llm::{ChatDelta, ChatReply, ChatRequest, FinishReason, OutputSchema, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::options::{ChatOptions, JsonMode};
use crate::client::HttpError;

pub(super) const OPERATION: &str = "chat";

/// The body of a request.
pub(super) fn request(options: &ChatOptions, request: &ChatRequest, streamed: bool) -> Value {
    let message = |m: &memory_engine_llm::Message| json!({"role": m.role.as_str(), "content": m.content});
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({"model": options.model});
    if let Some(output) = &request.output {
        match options.json_mode {
            JsonMode::Schema => {
                // Services refuse a strict schema that leaves anything open.
                let strict = output.schema["additionalProperties"] == false;
                let schema = json!({"name": output.name, "schema": output.schema, "strict": strict});
                body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
            }
            JsonMode::Object => {
                body["response_format"] = json!({"type": "json_object"});
                tell(&mut messages, output);
            }
            JsonMode::Prompt => tell(&mut messages, output),
        }
    }
    body["messages"] = messages.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(most) = request.max_tokens {
        body[&options.max_tokens_field] = most.into();
    }
    if !request.stop.is_empty() {
        body["stop"] = request.stop.clone().into();
    }
    if streamed {
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
    }
    for (name, value) in &options.fields {
        body[name] = value.clone();
    }
    body
}

/// Puts the schema behind the instructions, or in front where there are none.
fn tell(messages: &mut Vec<Value>, output: &OutputSchema) {
    let schema =
        format!("Answer with one JSON value and nothing else. It has to fit this JSON Schema: {}", output.schema);
    match messages.first_mut().filter(|first| first["role"] == "system") {
        Some(first) => {
            first["content"] = format!("{}\n\n{schema}", first["content"].as_str().unwrap_or_default()).into()
        }
        None => messages.insert(0, json!({"role": "system", "content": schema})),
    }
}

/// A whole answer.
#[derive(Deserialize)]
pub(super) struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    /// In a whole answer.
    message: Option<ReplyMessage>,
    /// In a piece of one.
    delta: Option<ReplyMessage>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct ReplyMessage {
    content: Option<Content>,
    reasoning_content: Option<String>,
    // Newer vLLM, OpenRouter and Ollama call it so.
    reasoning: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl ReplyMessage {
    fn text(content: Option<Content>) -> String {
        match content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
            None => String::new(),
        }
    }

    /// Splits a reply into its text and the reasoning before it.
    fn split(self) -> (String, Option<String>) {
        let thought = self.reasoning_content.filter(|thought| !thought.is_empty()).or(self.reasoning);
        (Self::text(self.content), thought.filter(|thought| !thought.is_empty()))
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self { input_tokens: tokens.prompt_tokens, output_tokens: tokens.completion_tokens }
    }
}

fn finish(reason: String) -> FinishReason {
    match reason.as_str() {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

impl Completion {
    /// The reply.
    pub(super) fn reply(self, host: &str) -> Result<ChatReply> {
        if let Some(error) = self.error.filter(|error| !error.is_null()) {
            return Err(HttpError::reported(host, &json!({"error": error})).into_error(OPERATION));
        }
        let said = self.choices.into_iter().next().and_then(|choice| Some((choice.message?, choice.finish_reason)));
        let Some((said, reason)) = said else {
            return Err(Error::new(ErrorKind::Corrupt, OPERATION, format!("the answer of {host} holds no message")));
        };
        let (text, reasoning) = said.split();
        // The answer is whole, as its JSON ended; some services leave the reason out then.
        let finish = reason.map_or(FinishReason::Stop, finish);
        Ok(ChatReply { text, reasoning, finish, usage: self.usage.map(Into::into) })
    }
}

/// A piece of a streamed answer; `None` when there is nothing in it.
pub(super) fn chunk(data: &str, host: &str) -> Result<Option<ChatDelta>> {
    // The parser's own words would repeat what it stumbled over.
    let malformed =
        |_| Error::new(ErrorKind::Corrupt, OPERATION, format!("a piece of the reply of {host} is not JSON"));
    let piece: Completion = serde_json::from_str(data).map_err(malformed)?;
    if let Some(error) = piece.error.filter(|error| !error.is_null()) {
        return Err(HttpError::reported(host, &json!({"error": error})).into_error(OPERATION));
    }
    let mut delta = ChatDelta { usage: piece.usage.map(Into::into), ..ChatDelta::default() };
    if let Some(choice) = piece.choices.into_iter().find(|choice| choice.index == 0) {
        let (text, reasoning) = choice.delta.unwrap_or_default().split();
        (delta.text, delta.reasoning) = (text, reasoning.unwrap_or_default());
        delta.finish = choice.finish_reason.map(finish);
    }
    Ok(Some(delta).filter(|delta| *delta != ChatDelta::default()))
}
