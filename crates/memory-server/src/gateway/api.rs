//! The table of the gateway's routes, with the types that describe them.
#![expect(dead_code, reason = "the types describe requests and responses that are passed through unparsed")]

use std::sync::Arc;

use axum::routing::{any, get, post};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{chat, models, openai::OpenAiError, state::GatewayState};
use crate::openapi::{ApiOperation, Routes};

pub(super) const TAG: &str = "gateway";
pub(super) const DESCRIPTION: &str = "The OpenAI-compatible chat gateway. Each path may begin with the owner of the \
    conversation: /u/{user}, then /a/{agent}, then /s/{session}.";

/// The routes under a prefix that names the owner of the conversation.
pub(super) fn routes(owner: &str) -> Routes<Arc<GatewayState>> {
    let path = |rest: &str| format!("{owner}/v1/{rest}");
    let chat = ApiOperation::new(
        "chat",
        "Completes a chat with the upstream of the model, and adds memories to the system message.",
    )
    .headers::<ChatHeaders>()
    .body::<ChatRequest>()
    .answer::<Object>()
    .response::<String>("200", "A stream of events.", "text/event-stream")
    .response_headers::<ReplyHeaders>();
    let models_list = ApiOperation::new("models", "Lists the models of all upstreams.").answer::<ModelList>();
    let model = ApiOperation::new("model", "Describes a model. Its name may contain slashes.").answer::<Object>();
    let embeddings = ApiOperation::new("embeddings", "Embeds texts with the upstream of the model.")
        .body::<EmbeddingsRequest>()
        .answer::<Object>();
    let unknown = models::unknown;
    Routes::new(TAG, DESCRIPTION)
        .route("post", &path("chat/completions"), post(chat::chat).fallback(unknown), with_errors(chat))
        .route("get", &path("models"), get(models::models).fallback(unknown), with_errors(models_list))
        .route("get", &path("models/{*model}"), get(models::model).fallback(unknown), with_errors(model))
        .route("post", &path("embeddings"), post(models::embeddings).fallback(unknown), with_errors(embeddings))
        .undocumented(&path("{*rest}"), any(unknown))
}

fn with_errors(operation: ApiOperation) -> ApiOperation {
    operation.errors::<OpenAiError>(&["4XX", "5XX"])
}

/// The JSON object of an upstream's response.
type Object = Map<String, Value>;

#[derive(JsonSchema)]
struct ChatHeaders {
    /// The conversation, percent-encoded.
    #[schemars(rename = "X-Session-Id")]
    session: Option<String>,
    /// The user, percent-encoded.
    #[schemars(rename = "X-User-Id")]
    user: Option<String>,
    /// The agent, percent-encoded.
    #[schemars(rename = "X-Agent-Id")]
    agent: Option<String>,
    /// `on` (default), `read` (nothing is stored) or `off`.
    #[schemars(rename = "X-Memory")]
    memory: Option<String>,
}

#[derive(JsonSchema)]
struct ReplyHeaders {
    /// The conversation under which the turn is stored.
    #[schemars(rename = "X-Memory-Session")]
    session: Option<String>,
    /// The ids of the memories in the prompt.
    #[schemars(rename = "X-Memory-Ids")]
    ids: Option<String>,
    /// The number of tokens of the memories in the prompt.
    #[schemars(rename = "X-Memory-Tokens")]
    tokens: Option<String>,
    /// The stages of the memory that failed.
    #[schemars(rename = "X-Memory-Degraded")]
    degraded: Option<String>,
}

/// A chat request. All other fields are passed through.
#[derive(JsonSchema)]
struct ChatRequest {
    model: Option<String>,
    messages: Vec<Object>,
    stream: Option<bool>,
    user: Option<String>,
    metadata: Option<Object>,
}

#[derive(JsonSchema)]
struct ModelList {
    object: String,
    data: Vec<Object>,
}

#[derive(JsonSchema)]
struct EmbeddingsRequest {
    model: Option<String>,
    input: Value,
}
