//! `POST /v1/chat/completions`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode},
    response::Response,
};
use tokio::sync::oneshot;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use super::{
    body::ChatBody,
    exchange::ChatExchange,
    identity::{Identity, OwnerSources},
    openai::{OpenAiAccess, error_response},
    pending_turn::PendingTurn,
    prompt::Prompt,
    relay::upstream_request,
    state::GatewayState,
    thread::Thread,
    turn::ChatTurn,
    upstream::Route,
};
use crate::{access::Access, fault::Fault};

/// The use of memory for a request, set by the header `X-Memory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryUse {
    /// Recalls and stores.
    On,
    /// Recalls only.
    Read,
    /// Neither.
    Off,
}

/// Completes a chat.
pub(super) async fn chat(
    State(gateway): State<Arc<GatewayState>>,
    OpenAiAccess(access): OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    match gateway.prepare_exchange(&access, &path, request).await {
        Ok(exchange) => {
            let (client, response) = oneshot::channel();
            gateway.tasks.spawn(exchange.run(client).in_current_span());
            let stopped = |_| error_response(Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway stopped"));
            response.await.unwrap_or_else(stopped)
        }
        Err(fault) => error_response(fault),
    }
}

impl GatewayState {
    /// Prepares an exchange: finds the upstream and the owner, and adds memories to the prompt.
    async fn prepare_exchange(
        &self,
        access: &Access,
        path: &BTreeMap<String, String>,
        request: Request,
    ) -> Result<ChatExchange, Fault> {
        let (parts, body) = request.into_parts();
        let mode = MemoryUse::of(&parts.headers)?;
        let body = ChatBody::read(self.read_body(body).await?).map_err(Fault::bad_request)?;
        let Route { service, model } = self.route(body.model())?;
        let thread = Thread::of(body.messages());
        let names = OwnerSources { headers: &parts.headers, path, body: body.owner() };
        let identity = Identity::resolve(access, &names, &self.options.user, &thread)?;
        let asked_at = self.options.clock.now();
        let prompt = match mode {
            MemoryUse::Off => Arc::new(Prompt::default()),
            MemoryUse::On | MemoryUse::Read => self.prompter.prompt(&identity, &thread).await,
        };
        let edited_body = body.edited(model.as_deref(), &prompt.block);
        let request = upstream_request(Method::POST, &["chat", "completions"], &parts.uri, parts.headers, edited_body);
        let turn = thread.key().filter(|_| mode == MemoryUse::On).map(|key| ChatTurn {
            address: identity.address.clone(),
            key,
            exchange: thread.open_exchange(),
            previous: thread.previous_exchange().cloned(),
            scene: prompt.scene.clone(),
            model,
            injected: prompt.ids.clone(),
            partial_reason: None,
            asked_at,
            answered_at: None,
            clock: Arc::clone(&self.options.clock),
            request_id: request_id(&parts.extensions),
        });
        Ok(ChatExchange {
            service,
            request,
            is_streamed: body.is_streamed(),
            prompt,
            session: identity.session().filter(|_| mode != MemoryUse::Off),
            turn: PendingTurn::new(turn, self.turns.clone()),
            options: Arc::clone(&self.options),
        })
    }
}

impl MemoryUse {
    fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let mode = headers.get("x-memory").map(|value| value.to_str().unwrap_or_default());
        match mode.map(|mode| mode.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "on") => Ok(Self::On),
            Some("read") => Ok(Self::Read),
            Some("off") => Ok(Self::Off),
            Some(_) => Err(Fault::bad_request("X-Memory must be `on`, `read` (nothing is stored) or `off`")),
        }
    }
}

/// Returns the id of a request in the log, if a layer before the gateway has set one.
fn request_id(extensions: &Extensions) -> Option<String> {
    extensions.get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).map(str::to_owned)
}
