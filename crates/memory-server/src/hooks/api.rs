//! The routes of the hooks.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue},
    response::{IntoResponse, Response},
};
use memory_engine_agent_hooks::{Agent, HookKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::state::HooksState;
use crate::{
    access::Access,
    fault::Fault,
    headers::{UserHeader, header_text, user_scope},
    openapi::{ApiOperation, Routes},
    request::{UrlQuery, non_empty},
};

const DEGRADED_HEADER: &str = "x-memory-degraded";
const SERVER_HEADER: &str = "x-memory-server";
const PROJECT_HEADER: &str = "x-memory-project";

pub(super) fn routes() -> Routes<Arc<HooksState>> {
    let hook = ApiOperation::new(
        "agentHook",
        "Handles an event of a coding agent: returns memories for the model, and stores prompts and replies.",
    );
    let hook = hook
        .query::<HookQuery>()
        .headers::<UserHeader>()
        .headers::<ProjectHeader>()
        .body::<Map<String, Value>>()
        .answer::<Map<String, Value>>()
        .response_headers::<AnswerHeaders>();
    Routes::new("hooks", "The hooks of coding agents: claude-code, codex, cursor or generic.").post(
        "/hooks/{agent}",
        handle,
        hook,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HookQuery {
    /// The user. Default: the only user of the key, or the user of the configuration.
    #[serde(default)]
    user_id: String,
    /// The name of the project. Default: one made of the folder that the body names.
    #[serde(default)]
    project: String,
    /// The event: session-start, user-prompt, stop or session-end. Default: the one that the body names.
    event: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a header")]
struct ProjectHeader {
    /// The name of the project, percent-encoded. It takes precedence over the URL.
    #[schemars(rename = "X-Memory-Project")]
    project: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes a header")]
struct AnswerHeaders {
    /// The version of this server. `memory hook` passes on no answer without it.
    #[schemars(rename = "X-Memory-Server")]
    server: Option<String>,
    /// `memory` if a failure of the memory is logged.
    #[schemars(rename = "X-Memory-Degraded")]
    degraded: Option<String>,
}

async fn handle(
    State(hooks): State<Arc<HooksState>>,
    access: Access,
    Path(agent): Path<String>,
    UrlQuery(query): UrlQuery<HookQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let agent: Agent = agent.parse().map_err(|error: memory_engine::Error| Fault::not_found(error.message()))?;
    let input: Value = serde_json::from_slice(&body)
        .map_err(|error| Fault::bad_request(format!("the body is not JSON: {error}; send the object of the hook")))?;
    let kind = query.event.as_deref().map(HookKind::from_name).transpose()?;
    let mut event = agent.parse(kind, &input)?;
    let named = header_text(&headers, PROJECT_HEADER)?.or_else(|| non_empty(&query.project).map(str::to_owned));
    event.project = named.or(event.project);
    let scope = user_scope(&access, &headers, &query.user_id, &hooks.default_user)?;
    let answer = hooks.handler.handle(&scope, &event).await;
    let mut response = Json(agent.response(&event, &answer)).into_response();
    response.headers_mut().insert(SERVER_HEADER, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    if !answer.degraded.is_empty() {
        let reasons = answer.degraded.join("; ");
        tracing::warn!(part = "hooks", agent = agent.as_str(), reasons, "the memory failed in part for a hook");
        response.headers_mut().insert(DEGRADED_HEADER, HeaderValue::from_static("memory"));
    }
    Ok(response)
}
