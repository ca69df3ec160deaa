//! Previews of the memories that the server would put before a model. Nothing is stored.
#![cfg_attr(
    not(all(feature = "gateway", feature = "hooks")),
    allow(dead_code, reason = "the previews of parts that this build lacks use it")
)]

#[cfg(feature = "gateway")]
mod chat;
pub(super) mod format;
#[cfg(feature = "hooks")]
mod hooks;
mod library;

use std::time::Instant;

use axum::{Json, extract::State};
use memory_engine::Scope;
use schemars::JsonSchema;
use serde::Deserialize;

use self::format::{ContextPath, ContextPreview};
use super::{query::Scoped, state::InspectorState};
use crate::{
    access::{Access, Owner},
    debug::search_report::rounded_ms,
    fault::Fault,
};

/// Maximum number of earlier messages in a request.
const MAX_EARLIER: usize = 200;

/// A message, and the part of the server that it is sent to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewRequest {
    /// The part of the server. Default: `gateway`.
    #[serde(default)]
    path: ContextPath,
    /// The message of the user. It may be empty for `session_start` only.
    #[serde(default)]
    message: String,
    /// The conversation before the message, oldest first, at most 200 messages. Default: for `gateway` and `hook` the
    /// stored turns of the conversation, if the URL names one.
    #[serde(default)]
    #[schemars(length(max = MAX_EARLIER))]
    earlier: Vec<EarlierMessage>,
    /// The limit of `library`, in tokens. Default: 1000.
    max_tokens: Option<usize>,
    /// Number of latest turns that `library` adds. Default: 0.
    #[serde(default)]
    recent: usize,
    /// The persona of `library`. Default: none.
    #[serde(default)]
    persona: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EarlierMessage {
    /// The speaker: `user` or `assistant`.
    role: EarlierRole,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EarlierRole {
    User,
    Assistant,
}

/// A checked request, with the owner that the URL names.
#[derive(Debug)]
struct Preview<'r> {
    state: &'r InspectorState,
    access: Access,
    scope: Scope,
    request: PreviewRequest,
}

pub(super) async fn show(
    State(state): State<InspectorState>,
    scoped: Scoped,
    body: Result<Json<PreviewRequest>, axum::extract::rejection::JsonRejection>,
) -> Result<Json<ContextPreview>, Fault> {
    let Json(request) = body.map_err(|error| Fault::new(error.status(), error.body_text()))?;
    request.validate()?;
    let started = Instant::now();
    let path = request.path;
    let preview = Preview { state: &state, access: scoped.access, scope: scoped.scope, request };
    let mut shown = preview.run().await?;
    shown.path = path;
    shown.took_ms = rounded_ms(started.elapsed());
    Ok(Json(shown))
}

impl PreviewRequest {
    fn validate(&self) -> Result<(), Fault> {
        if self.message.trim().is_empty() && self.path != ContextPath::SessionStart {
            return Err(Fault::bad_request("message is empty; send the message of the user"));
        }
        if self.earlier.len() > MAX_EARLIER {
            let message = format!("earlier has {} messages; send at most the last {MAX_EARLIER}", self.earlier.len());
            return Err(Fault::bad_request(message));
        }
        let is_library = self.path == ContextPath::Library;
        if !is_library && (self.max_tokens.is_some() || self.recent > 0 || !self.persona.is_empty()) {
            let message = "max_tokens, recent and persona are options of the path library; the configuration sets \
                           those of the other paths";
            return Err(Fault::bad_request(message));
        }
        Ok(())
    }
}

impl Preview<'_> {
    async fn run(&self) -> Result<ContextPreview, Fault> {
        match self.request.path {
            #[cfg(feature = "gateway")]
            ContextPath::Gateway => self.gateway().await,
            #[cfg(not(feature = "gateway"))]
            ContextPath::Gateway => Err(missing_part("gateway")),
            #[cfg(feature = "hooks")]
            ContextPath::Hook => self.hook().await,
            #[cfg(feature = "hooks")]
            ContextPath::SessionStart => self.session_start().await,
            #[cfg(not(feature = "hooks"))]
            ContextPath::Hook | ContextPath::SessionStart => Err(missing_part("hooks")),
            ContextPath::Library => self.library().await,
        }
    }

    /// Returns the owner that the URL names.
    fn owner(&self) -> Owner {
        let [user, agent, session, branch] =
            [self.scope.user_name(), self.scope.agent(), self.scope.session(), self.scope.branch()];
        let [user, agent, session, branch] = [user, agent, session, branch].map(|name| name.map(str::to_owned));
        Owner { user, agent, session, branch }
    }
}

#[cfg(not(all(feature = "gateway", feature = "hooks")))]
fn missing_part(feature: &str) -> Fault {
    Fault::bad_request(format!("this build lacks that part of the server; compile it with the feature {feature}"))
}
