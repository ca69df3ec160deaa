//! The table of the gateway's routes, with the types that describe them.
#![expect(dead_code, reason = "the types describe requests and responses that are passed through unparsed")]

use std::sync::Arc;

use axum::routing::any;
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
    let completion = |operation: ApiOperation| {
        let operation = operation.headers::<ChatHeaders>().answer::<Object>();
        let operation = operation.response::<String>("200", "A stream of events.", "text/event-stream");
        operation.response_headers::<ReplyHeaders>()
    };
    let chat = ApiOperation::new(
        "chat",
        "Completes a chat with the upstream of the model, and adds memories to the user's message or to the system \
         prompt.",
    );
    let messages = ApiOperation::new(
        "messages",
        "Completes a chat in Anthropic's dialect, and adds memories to the user's message or after the system prompt. \
         An upstream that does not speak it is served by conversion.",
    );
    let count_tokens = ApiOperation::new(
        "count_tokens",
        "Counts the tokens of a request in Anthropic's dialect; an estimate if the upstream does not speak it.",
    );
    let count_tokens = count_tokens.body::<MessagesRequest>().answer::<TokenCount>();
    let responses = ApiOperation::new(
        "responses",
        "Completes a chat in the dialect of OpenAI's Responses, and adds memories to the user's message or to \
         the instructions. An upstream that does not speak it is served by conversion.",
    );
    let stored_response = |id, summary| with_errors(ApiOperation::new(id, summary).answer::<Object>());
    let show_stored =
        stored_response("stored_response", "Shows a stored response, of the first upstream that speaks Responses.");
    let change_stored =
        stored_response("change_stored_response", "Passes a request about a stored response on, such as `cancel`.");
    let delete_stored =
        stored_response("delete_stored_response", "Deletes a stored response. The memory keeps the turn.");
    let models_list = ApiOperation::new("models", "Lists the models of all upstreams.").answer::<ModelList>();
    let model = ApiOperation::new("model", "Describes a model. Its name may contain slashes.").answer::<Object>();
    let embeddings = ApiOperation::new("embeddings", "Embeds texts with the upstream of the model.");
    let embeddings = embeddings.body::<EmbeddingsRequest>().answer::<Object>();
    let stored = &path("responses/{*rest}");
    Routes::new(TAG, DESCRIPTION)
        .post(&path("chat/completions"), chat::chat, with_errors(completion(chat.body::<ChatRequest>())))
        .post(&path("messages"), chat::messages, with_messages_errors(completion(messages.body::<MessagesRequest>())))
        .post(&path("messages/count_tokens"), count_tokens::count_tokens, with_messages_errors(count_tokens))
        .post(&path("responses"), chat::responses, with_errors(completion(responses.body::<ResponsesRequest>())))
        .get(stored, responses::stored_response, show_stored)
        .post(stored, responses::stored_response, change_stored)
        .delete(stored, responses::stored_response, delete_stored)
        .get(&path("models"), models::models, with_errors(models_list))
        .get(&path("models/{*model}"), models::model, with_errors(model))
        .post(&path("embeddings"), models::embeddings, with_errors(embeddings))
        .undocumented(&path("{*rest}"), any(models::unknown))
}

fn with_errors(operation: ApiOperation) -> ApiOperation {
    operation.errors::<OpenAiError>(&["4XX", "5XX"])
}

fn with_messages_errors(operation: ApiOperation) -> ApiOperation {
    operation.errors::<MessagesFailure>(&["4XX", "5XX"])
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

/// The body of a refusal or failure: the guard answers in the format of OpenAI's API.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum MessagesFailure {
    Messages(MessagesError),
    Guard(OpenAiError),
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
