//! Completes chats: `POST /v1/chat/completions`, `/v1/messages` and `/v1/responses`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Bytes,
    extract::{Path, Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode},
    response::Response,
};
use memory_engine::{Scope, http_models::RelayRequest};
use tokio::{sync::oneshot, time::timeout};
use tower_http::request_id::RequestId;
use tracing::Instrument;

use super::{
    body::ChatBody,
    chain::{ChainRecorder, find_chain},
    conversion::{Conversion, chat_headers},
    dialect::Dialect,
    exchange::ChatExchange,
    identity::{Identity, OwnerSources},
    openai::OpenAiAccess,
    pending_turn::PendingTurn,
    prompt::Prompt,
    relay::upstream_headers,
    sessions::Chain,
    state::GatewayState,
    thread::{ChatMessage, Speaker, Thread},
    turn::ChatTurn,
    upstream::{Route, Service},
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

/// Completes a chat in OpenAI's chat completions.
pub(super) async fn chat(
    State(gateway): State<Arc<GatewayState>>,
    OpenAiAccess(access): OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    gateway.complete(Dialect::Chat, &access, &path, request).await
}

/// Completes a chat in Anthropic's messages.
pub(super) async fn messages(
    State(gateway): State<Arc<GatewayState>>,
    access: Access,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    gateway.complete(Dialect::Messages, &access, &path, request).await
}

/// Completes a chat in OpenAI's responses.
pub(super) async fn responses(
    State(gateway): State<Arc<GatewayState>>,
    OpenAiAccess(access): OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    gateway.complete(Dialect::Responses, &access, &path, request).await
}

impl GatewayState {
    async fn complete(
        &self,
        dialect: Dialect,
        access: &Access,
        path: &BTreeMap<String, String>,
        request: Request,
    ) -> Response {
        match self.prepare_exchange(dialect, access, path, request).await {
            Ok(exchange) => {
                let (client, response) = oneshot::channel();
                self.tasks.spawn(exchange.run(client).in_current_span());
                let stopped = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway stopped");
                response.await.unwrap_or_else(|_| dialect.error_response(stopped))
            }
            Err(fault) => dialect.error_response(fault),
        }
    }

    /// Prepares an exchange: finds the upstream and the owner, and adds memories to the prompt.
    async fn prepare_exchange(
        &self,
        dialect: Dialect,
        access: &Access,
        path: &BTreeMap<String, String>,
        request: Request,
    ) -> Result<ChatExchange, Fault> {
        let (parts, body) = request.into_parts();
        let mode = MemoryUse::of(&parts.headers)?;
        let body = ChatBody::read(self.read_body(body).await?, dialect).map_err(Fault::bad_request)?;
        let Route { service, model } = self.route(body.model())?;
        let names = OwnerSources { headers: &parts.headers, path, body: body.owner() };
        let recall_scope = Identity::recall_scope(access, &names, &self.options.user)?;
        let (chain, lost_chain) = match mode {
            MemoryUse::Off => (None, None),
            MemoryUse::On | MemoryUse::Read => self.chain_of(&body, &recall_scope).await,
        };
        let earlier = chain.as_ref().map_or(&[][..], |chain| &chain.messages);
        let thread = Thread::of(earlier.iter().chain(body.messages()));
        let session = chain.as_ref().map(|chain| chain.session.as_str());
        let identity = Identity::resolve(access, &names, &self.options.user, session, &thread)?;
        let asked_at = self.options.clock.now();
        let mut prompt = match mode {
            MemoryUse::Off => Arc::new(Prompt::default()),
            MemoryUse::On | MemoryUse::Read => self.prompter.prompt(&identity, &thread).await,
        };
        if let Some(stage) = lost_chain {
            Arc::make_mut(&mut prompt).degraded.push(stage);
        }
        let (request, conversion) = upstream_exchange(
            dialect,
            &service,
            body.edited(model.as_deref(), &prompt.block),
            parts.headers,
            parts.uri.query(),
        )?;
        let mut key = thread.key().filter(|_| mode == MemoryUse::On);
        if let (Some(key), Some(chain)) = (&mut key, &chain) {
            key.parent.clone_from(&chain.parent);
        }
        let recorder = (dialect == Dialect::Responses && conversion.is_none()).then(|| ChainRecorder {
            sessions: Arc::clone(&self.sessions),
            recall_scope,
            conversation: body.conversation().map(str::to_owned),
            chain: Chain {
                session: identity.address.session().unwrap_or_default().to_owned(),
                messages: latest_exchanges(earlier.iter().chain(body.messages()).collect()),
                parent: chain.as_ref().and_then(|chain| chain.parent.clone()),
            },
        });
        let turn = key.map(|key| ChatTurn {
            address: identity.address.clone(),
            key,
            exchange: thread.open_exchange(),
            previous: thread.previous_exchange().cloned(),
            scene: prompt.scene.clone(),
            model,
            response_id: None,
            injected: prompt.ids.clone(),
            partial_reason: None,
            asked_at,
            answered_at: None,
            clock: Arc::clone(&self.options.clock),
            request_id: request_id(&parts.extensions),
        });
        Ok(ChatExchange {
            service,
            dialect,
            conversion,
            request,
            is_streamed: body.is_streamed(),
            prompt,
            session: identity.session().filter(|_| mode != MemoryUse::Off),
            turn: PendingTurn::new(turn, self.turns.clone(), recorder),
            options: Arc::clone(&self.options),
        })
    }

    /// Returns the conversation that the request continues by an id, or the stage of the memory that failed.
    async fn chain_of(&self, body: &ChatBody, recall_scope: &Scope) -> (Option<Arc<Chain>>, Option<&'static str>) {
        let Some(id) = body.continues() else { return (None, None) };
        let find = find_chain(&self.engine, &self.sessions, recall_scope, id);
        match timeout(self.options.memory_deadline, find).await {
            Ok(Ok(chain)) => (chain, None),
            Ok(Err(_)) => (None, Some("session")),
            Err(_) => (None, Some("deadline")),
        }
    }
}

/// Returns the open exchange and the one before it. The rest of a long history is not needed to continue it.
fn latest_exchanges(messages: Vec<&ChatMessage>) -> Vec<ChatMessage> {
    let of_user = (0..messages.len()).rev().filter(|index| messages[*index].speaker == Speaker::User);
    let start = of_user.take(2).last().unwrap_or(0);
    messages[start..].iter().map(|message| (*message).clone()).collect()
}

/// Builds the request to the upstream, and its conversion if the upstream does not speak the dialect.
fn upstream_exchange(
    dialect: Dialect,
    service: &Service,
    body: Bytes,
    headers: HeaderMap,
    query: Option<&str>,
) -> Result<(RelayRequest, Option<Conversion>), Fault> {
    if service.speaks(dialect) {
        let headers = upstream_headers(dialect, service, headers);
        let request = RelayRequest::new(Method::POST, dialect.path()).with_query(query);
        return Ok((request.with_headers(headers).with_body(body), None));
    }
    if !service.speaks(Dialect::Chat) {
        let (name, spoken) = (&service.name, dialect.name());
        return Err(Fault::bad_request(format!(
            "the upstream '{name}' does not speak the dialect '{spoken}', and only 'chat' can stand in for another; \
             add '{spoken}' or 'chat' to its `dialects`, or choose a model of another upstream"
        )));
    }
    let (conversion, body) = Conversion::of_request(dialect, &body)?;
    let headers = upstream_headers(Dialect::Chat, service, chat_headers(headers));
    let request = RelayRequest::new(Method::POST, Dialect::Chat.path()).with_headers(headers).with_body(body);
    Ok((request, Some(conversion)))
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
