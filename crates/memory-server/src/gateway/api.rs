//! The table of the gateway's routes, with the types that describe them.
#![expect(dead_code, reason = "the types describe requests and responses that are passed through unparsed")]

use std::sync::Arc;

use axum::routing::{any, get, post};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{chat, count_tokens, models, openai::OpenAiError, responses, state::GatewayState};
use crate::openapi::{ApiOperation, Routes};

pub(super) const TAG: &str = "gateway";
pub(super) const DESCRIPTION: &str = "The chat gateway for clients of OpenAI and Anthropic. Each path may begin with \
    the owner of the conversation: /u/{user}, then /a/{agent}, then /s/{session}.";

/// The routes under a prefix that names the owner of the conversation.
pub(super) fn routes(owner: &str) -> Routes<Arc<GatewayState>> {
    let path = |rest: &str| format!("{owner}/v1/{rest}");
    let chat = ApiOperation::new(
        "chat",
        "Completes a chat with the upstream of the model, and adds memories to the user's message or to the system \
         prompt.",
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
    let messages = ApiOperation::new(
        "messages",
        "Completes a chat in Anthropic's dialect, and adds memories to the user's message or after the system prompt. \
         An upstream that does not speak it is served by conversion.",
    )
    .headers::<ChatHeaders>()
    .body::<MessagesRequest>()
    .answer::<Object>()
    .response::<String>("200", "A stream of events.", "text/event-stream")
    .response_headers::<ReplyHeaders>();
    let count_tokens = ApiOperation::new(
        "count_tokens",
        "Counts the tokens of a request in Anthropic's dialect; an estimate if the upstream does not speak it.",
    )
    .body::<MessagesRequest>()
    .answer::<TokenCount>();
    let responses = ApiOperation::new(
        "responses",
        "Completes a chat in the dialect of OpenAI's Responses, and adds memories to the user's message or to \
         the instructions. An upstream that does not speak it is served by conversion.",
    )
    .headers::<ChatHeaders>()
    .body::<ResponsesRequest>()
    .answer::<Object>()
    .response::<String>("200", "A stream of events.", "text/event-stream")
    .response_headers::<ReplyHeaders>();
    let stored_response = |id, summary| with_errors(ApiOperation::new(id, summary).answer::<Object>());
    let stored = &path("responses/{*rest}");
    let unknown = models::unknown;
    Routes::new(TAG, DESCRIPTION)
        .route("post", &path("chat/completions"), post(chat::chat).fallback(unknown), with_errors(chat))
        .route("post", &path("messages"), post(chat::messages).fallback(unknown), with_messages_errors(messages))
        .route(
            "post",
            &path("messages/count_tokens"),
            post(count_tokens::count_tokens).fallback(unknown),
            with_messages_errors(count_tokens),
        )
        .route("post", &path("responses"), post(chat::responses).fallback(unknown), with_errors(responses))
        .route(
            "get",
            stored,
            get(responses::stored_response).fallback(unknown),
            stored_response("stored_response", "Shows a stored response, of the first upstream that speaks Responses."),
        )
        .post(
            stored,
            responses::stored_response,
            stored_response("change_stored_response", "Passes a request about a stored response on, such as `cancel`."),
        )
        .delete(
            stored,
            responses::stored_response,
            stored_response("delete_stored_response", "Deletes a stored response. The memory keeps the turn."),
        )
        .route("get", &path("models"), get(models::models).fallback(unknown), with_errors(models_list))
        .route("get", &path("models/{*model}"), get(models::model).fallback(unknown), with_errors(model))
        .route("post", &path("embeddings"), post(models::embeddings).fallback(unknown), with_errors(embeddings))
        .undocumented(&path("{*rest}"), any(unknown))
}

fn with_errors(operation: ApiOperation) -> ApiOperation {
    operation.errors::<OpenAiError>(&["4XX", "5XX"])
}

fn with_messages_errors(operation: ApiOperation) -> ApiOperation {
    operation.errors::<MessagesError>(&["4XX", "5XX"])
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
    /// The user's time zone: a name such as `Asia/Shanghai`, or an offset.
    #[schemars(rename = "X-Timezone")]
    zone: Option<String>,
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

/// A request in Anthropic's dialect. All other fields are passed through.
#[derive(JsonSchema)]
struct MessagesRequest {
    model: Option<String>,
    max_tokens: Option<u64>,
    /// A text, or a list of blocks.
    system: Option<Value>,
    messages: Vec<Object>,
    stream: Option<bool>,
    metadata: Option<Object>,
}

#[derive(JsonSchema)]
struct TokenCount {
    input_tokens: u64,
}

/// A request in the dialect of Responses. All other fields are passed through.
#[derive(JsonSchema)]
struct ResponsesRequest {
    model: Option<String>,
    instructions: Option<String>,
    /// A text, or a list of items.
    input: Value,
    /// The response that this one continues, if the upstream stores responses.
    previous_response_id: Option<String>,
    stream: Option<bool>,
    user: Option<String>,
    metadata: Option<Object>,
}

/// The body of a refusal or failure, in the format of Anthropic's API.
#[derive(JsonSchema)]
struct MessagesError {
    /// Always `error`.
    r#type: String,
    error: MessagesErrorDetails,
}

#[derive(JsonSchema)]
struct MessagesErrorDetails {
    r#type: String,
    message: String,
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
