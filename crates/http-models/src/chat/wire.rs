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
                // Services reject a strict schema that allows additional properties.
                let strict = output.schema["additionalProperties"] == false;
                let schema = json!({"name": output.name, "schema": output.schema, "strict": strict});
                body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
            }
            JsonMode::Object => {
                body["response_format"] = json!({"type": "json_object"});
                add_schema(&mut messages, output);
            }
            JsonMode::Prompt => add_schema(&mut messages, output),
        }
    }
    body["messages"] = messages.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(max_tokens) = request.max_tokens {
        body[&options.max_tokens_field] = max_tokens.into();
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

/// Appends the schema to the system message, or inserts a system message with it.
fn add_schema(messages: &mut Vec<Value>, output: &OutputSchema) {
    let schema =
        format!("Answer with one JSON value and nothing else. It has to fit this JSON Schema: {}", output.schema);
    match messages.first_mut().filter(|first| first["role"] == "system") {
        Some(first) => {
            first["content"] = format!("{}\n\n{schema}", first["content"].as_str().unwrap_or_default()).into()
        }
        None => messages.insert(0, json!({"role": "system", "content": schema})),
    }
}

/// A complete response, or one chunk of a stream.
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
    /// Set in a complete response.
    message: Option<ReplyMessage>,
    /// Set in a chunk of a stream.
    delta: Option<ReplyMessage>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct ReplyMessage {
    content: Option<ReplyContent>,
    reasoning_content: Option<String>,
    // The name in newer versions of vLLM, in OpenRouter and in Ollama.
    reasoning: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ReplyContent {
    Text(String),
    Parts(Vec<ReplyContentPart>),
}

#[derive(Deserialize)]
struct ReplyContentPart {
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
    fn text(content: Option<ReplyContent>) -> String {
        match content {
            Some(ReplyContent::Text(text)) => text,
            Some(ReplyContent::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
            None => String::new(),
        }
    }

    /// Returns the text and the reasoning of a reply.
    fn split(self) -> (String, Option<String>) {
        let reasoning = self.reasoning_content.filter(|reasoning| !reasoning.is_empty()).or(self.reasoning);
        (Self::text(self.content), reasoning.filter(|reasoning| !reasoning.is_empty()))
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self { input_tokens: tokens.prompt_tokens, output_tokens: tokens.completion_tokens }
    }
}

fn finish_reason(reason: String) -> FinishReason {
    match reason.as_str() {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

impl Completion {
    /// Converts a complete response to a reply.
    pub(super) fn reply(self, host: &str) -> Result<ChatReply> {
        if let Some(error) = self.error.filter(|error| !error.is_null()) {
            return Err(HttpError::reported(host, &json!({"error": error})).into_error(OPERATION));
        }
        let choice = self.choices.into_iter().next().and_then(|choice| Some((choice.message?, choice.finish_reason)));
        let Some((message, reason)) = choice else {
            return Err(Error::new(
                ErrorKind::Corrupt,
                OPERATION,
                format!("the response of {host} contains no message"),
            ));
        };
        let (text, reasoning) = message.split();
        // Complete JSON means a complete response. Some services omit the reason.
        let finish = reason.map_or(FinishReason::Stop, finish_reason);
        Ok(ChatReply { text, reasoning, finish, usage: self.usage.map(Into::into) })
    }
}

/// Parses a chunk of a stream. Returns `None` if it contains nothing.
pub(super) fn chunk(data: &str, host: &str) -> Result<Option<ChatDelta>> {
    // The parser's message is dropped: it could quote the text.
    let malformed = |_| {
        Error::new(
            ErrorKind::Corrupt,
            OPERATION,
            format!("a chunk of the stream of {host} is not valid JSON of a chat completion"),
        )
    };
    let chunk: Completion = serde_json::from_str(data).map_err(malformed)?;
    if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
        return Err(HttpError::reported(host, &json!({"error": error})).into_error(OPERATION));
    }
    let mut delta = ChatDelta { usage: chunk.usage.map(Into::into), ..ChatDelta::default() };
    if let Some(choice) = chunk.choices.into_iter().find(|choice| choice.index == 0) {
        let (text, reasoning) = choice.delta.unwrap_or_default().split();
        delta.text = text;
        delta.reasoning = reasoning.unwrap_or_default();
        delta.finish = choice.finish_reason.map(finish_reason);
    }
    Ok(Some(delta).filter(|delta| *delta != ChatDelta::default()))
}
