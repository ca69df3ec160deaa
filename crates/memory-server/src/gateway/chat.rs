//! Completes chats: `POST /v1/chat/completions`, `/v1/messages` and `/v1/responses`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Bytes,
    extract::{Path, Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode},
    response::Response,
};
use memory_engine::{
    Result as EngineResult,
    audit::{AuditContext, in_context},
    http_models::RelayRequest,
    requests::MemoryRequest,
};
use tokio::{sync::oneshot, time::timeout};
use tower_http::request_id::RequestId;
use tracing::Instrument;

use super::{
    body::ChatBody,
    continuation::{Continuation, find_continuation, read_continuation},
    conversion::{Conversion, chat_headers},
    derived_session::find_chat,
    dialect::Dialect,
    exchange::ChatExchange,
    identity::{Identity, OwnerSources},
    openai::OpenAiAccess,
    pending_turn::{OpenQuestion, PendingTurn, TurnStorage},
    prompt::Prompt,
    relay::upstream_headers,
    requests::find_request,
    response_owner::ResponseOwner,
    session_state::OpenExchange,
    sessions::read_latest_turn,
    state::GatewayState,
    thread::{ChatMessage, Thread, TurnKey},
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

/// Handles `POST /v1/chat/completions` of OpenAI's API.
pub(super) async fn chat(
    State(gateway): State<Arc<GatewayState>>,
    OpenAiAccess(access): OpenAiAccess,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    gateway.complete(Dialect::Chat, &access, &path, request).await
}

/// Handles `POST /v1/messages` of Anthropic's API.
pub(super) async fn messages(
    State(gateway): State<Arc<GatewayState>>,
    access: Access,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    gateway.complete(Dialect::Messages, &access, &path, request).await
}

/// Handles `POST /v1/responses` of OpenAI's API.
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
                let (response_sender, response_receiver) = oneshot::channel();
                let exchange = in_context(AuditContext::current(), exchange.run(response_sender));
                self.tasks.spawn(exchange.in_current_span());
                let message =
                    "the request ended without a reply: the server stops, or had an internal error that its log shows";
                let fault = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, message);
                response_receiver.await.unwrap_or_else(|_| dialect.error_response(fault))
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
        let mut memory_use = MemoryUse::from_headers(&parts.headers)?;
        let body = ChatBody::read(self.read_body(body).await?, dialect).map_err(Fault::bad_request)?;
        if body.is_without_words() {
            memory_use = MemoryUse::Off;
        }
        let Route { service, model } = self.route(body.model())?;
        let names = OwnerSources { headers: &parts.headers, path, body: body.owner() };
        // An upstream that is served by conversion stores nothing.
        if service.speaks(dialect) {
            self.check_owner(access, body.stored_ids()).await?;
        }
        let conversation = self.resolve_conversation(access, &names, &body, memory_use).await?;
        let asked_at = self.options.clock.now();
        let request = Some(&conversation.thread).filter(|_| memory_use == MemoryUse::On);
        let request = match request {
            Some(thread) => {
                let scope = &conversation.identity.recall_scope;
                find_request(&self.engine, scope, &self.options.commands, thread).await
            }
            None => None,
        };
        let prompt = match memory_use {
            MemoryUse::Off => Prompt::default(),
            MemoryUse::On | MemoryUse::Read => self.build_prompt(&conversation, request.as_ref()).await,
        };
        let storage = self.turn_storage(memory_use, &conversation, request, &prompt);
        let request_id = request_id(&parts.extensions);
        let (request, conversion) = upstream_exchange(
            dialect,
            &service,
            body.edited(model.as_deref(), &prompt.block, self.options.placement),
            parts.headers,
            parts.uri.query(),
        )?;
        let key = conversation.key.clone().filter(|_| memory_use != MemoryUse::Off);
        let question = key.as_ref().filter(|_| conversation.thread.question().is_some()).map(|key| OpenQuestion {
            engine: self.engine.clone(),
            exchange: OpenExchange::new(key, &prompt),
            time_limit: self.options.store_timeout,
        });
        let turn = key.map(|key| ChatTurn {
            address: conversation.identity.address.clone(),
            key,
            exchange: conversation.thread.open_exchange(),
            previous: conversation.thread.previous_exchange().cloned(),
            scene: prompt.scene.clone(),
            session_scene: prompt.session_scene.clone(),
            model,
            injected: prompt.ids.clone(),
            partial_reason: None,
            asked_at,
            answered_at: None,
            clock: Arc::clone(&self.options.clock),
            request_id,
        });
        let session = conversation.identity.session().filter(|_| memory_use != MemoryUse::Off);
        // An upstream that is served by conversion stores no responses.
        let is_continuable = dialect == Dialect::Responses && conversion.is_none();
        let recall_scope = &conversation.identity.recall_scope;
        let owner = is_continuable.then(|| ResponseOwner::of(&self.engine, access, recall_scope));
        Ok(ChatExchange {
            service,
            dialect,
            conversion,
            request,
            is_streamed: body.is_streamed(),
            prompt: Arc::new(prompt),
            session,
            turn: PendingTurn::new(turn, storage, question, owner),
            options: Arc::clone(&self.options),
        })
    }

    /// Resolves the conversation of a request: its owner, and its latest messages, also those that the client does not
    /// repeat.
    async fn resolve_conversation(
        &self,
        access: &Access,
        names: &OwnerSources<'_>,
        body: &ChatBody,
        memory_use: MemoryUse,
    ) -> Result<Conversation, Fault> {
        let owner = names.user_and_agent(access, &self.options.user)?;
        let (continuation, mut failed_stage) = match memory_use {
            MemoryUse::Off => (None, None),
            MemoryUse::On | MemoryUse::Read => {
                let identity = Identity::resolve(access, names, owner.clone(), None, &Thread::default())?;
                match timeout(self.options.memory_deadline, self.find_continuation(&identity, body)).await {
                    Ok(Ok(continuation)) => (continuation, None),
                    Ok(Err(_)) => (None, Some("session")),
                    Err(_) => (None, Some("deadline")),
                }
            }
        };
        let asks = body.messages().iter().any(ChatMessage::asks);
        let earlier = continuation.as_ref().map_or(&[][..], |continuation| continuation.messages(asks));
        let thread = Thread::of(earlier.iter().chain(body.messages()));
        let mut key = thread.key();
        if let Some(continuation) = &continuation {
            if !asks {
                key = Some(continuation.open_turn());
            } else if Thread::of(body.messages()).previous_exchange().is_none() {
                // The key that is computed from the shortened history may differ.
                key = key.map(|key| TurnKey { parent: Some(continuation.parent()), ..key });
            }
        }
        let is_unstored = !asks && continuation.is_some() && earlier.is_empty();
        let session = continuation.as_ref().map(|continuation| continuation.session.as_str());
        let mut identity = Identity::resolve(access, names, owner, session, &thread)?;
        if let (true, true, Some(key)) = (identity.is_derived, memory_use != MemoryUse::Off, &mut key) {
            let Identity { recall_scope, address, .. } = &identity;
            let now = self.options.clock.now();
            let find = find_chat(&self.engine, recall_scope, address, &thread, key, now);
            match timeout(self.options.memory_deadline, find).await {
                Ok(Ok((chat, edited))) => {
                    identity.address = chat;
                    key.edited = edited;
                }
                Ok(Err(_)) => failed_stage = Some("session"),
                Err(_) => failed_stage = Some("deadline"),
            }
        }
        Ok(Conversation { identity, thread, key, is_unstored, failed_stage })
    }

    /// Returns the turn that a request continues: that of a response, or the latest one of a conversation that the
    /// service stores, whose session `identity` has.
    async fn find_continuation(&self, identity: &Identity, body: &ChatBody) -> EngineResult<Option<Continuation>> {
        match body.continued_id() {
            None => Ok(None),
            id if id == body.conversation_id() => {
                let latest = read_latest_turn(&self.engine, &identity.address, self.options.clock.now()).await?;
                let Some(turn) = latest.key else { return Ok(None) };
                let latest = read_continuation(&self.engine, &identity.address, &turn).await?;
                // The results of tools belong to another question, which is not stored.
                let asks = body.messages().iter().any(ChatMessage::asks);
                Ok(latest.filter(|latest| asks || !latest.is_answered()))
            }
            Some(id) => find_continuation(&self.engine, &identity.recall_scope, id).await,
        }
    }

    /// Returns what becomes of the turn: a request about the memory itself, and the reply to it, are not stored.
    fn turn_storage(
        &self,
        memory_use: MemoryUse,
        conversation: &Conversation,
        request: Option<MemoryRequest>,
        prompt: &Prompt,
    ) -> TurnStorage {
        let is_play = prompt.scene.as_deref().is_some_and(|scene| self.prompter.is_play(scene));
        let Some(request) = request.filter(|_| !is_play) else {
            let is_stored = memory_use == MemoryUse::On && !conversation.is_unstored;
            return if is_stored { TurnStorage::Write(self.turns.clone()) } else { TurnStorage::None };
        };
        match request {
            MemoryRequest::OffTheRecord => TurnStorage::Block(self.engine.clone(), self.options.store_timeout),
            MemoryRequest::TakeOutPrevious | MemoryRequest::Forget { .. } | MemoryRequest::Undo => TurnStorage::None,
        }
    }

    async fn build_prompt(&self, conversation: &Conversation, request: Option<&MemoryRequest>) -> Prompt {
        let Conversation { identity, thread, key, .. } = conversation;
        let mut prompt = self.prompter.prompt(identity, thread, key.as_ref(), request).await;
        prompt.degraded.extend(conversation.failed_stage);
        prompt.count();
        prompt
    }
}

/// The conversation that a request belongs to.
struct Conversation {
    identity: Identity,
    thread: Thread,
    /// The key of the open turn; `None` if the request has no messages.
    key: Option<TurnKey>,
    /// True for the results of tools for a question that is not stored, and which the request does not repeat.
    is_unstored: bool,
    /// The stage of the memory that failed to find what the request continues.
    failed_stage: Option<&'static str>,
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
        return Err(Fault::bad_request(unspoken_dialect(&service.name, dialect)));
    }
    // The query belongs to the dialect of the client, so it is not sent with a converted request.
    let (conversion, body) = Conversion::of_request(dialect, &body)?;
    let headers = upstream_headers(Dialect::Chat, service, chat_headers(headers));
    let request = RelayRequest::new(Method::POST, Dialect::Chat.path()).with_headers(headers).with_body(body);
    Ok((request, Some(conversion)))
}

/// Returns the message for a request in a dialect that the upstream does not speak and cannot be converted for.
fn unspoken_dialect(upstream: &str, dialect: Dialect) -> String {
    let spoken = dialect.name();
    let remedy = match dialect {
        Dialect::Chat => "add 'chat' to its `dialects` if it does, or choose a model of another upstream".to_owned(),
        Dialect::Messages | Dialect::Responses => format!(
            "and requests are converted only to 'chat'; add '{spoken}' or 'chat' to its `dialects` if it speaks one, \
             or choose a model of another upstream"
        ),
    };
    format!("the upstream '{upstream}' does not speak the dialect '{spoken}'; {remedy}")
}

impl MemoryUse {
    fn from_headers(headers: &HeaderMap) -> Result<Self, Fault> {
        let Some(value) = headers.get("x-memory") else { return Ok(Self::On) };
        match value.to_str().map(|value| value.trim().to_ascii_lowercase()).as_deref() {
            Ok("" | "on") => Ok(Self::On),
            Ok("read") => Ok(Self::Read),
            Ok("off") => Ok(Self::Off),
            Ok(_) | Err(_) => Err(Fault::bad_request("X-Memory must be `on`, `read` (nothing is stored) or `off`")),
        }
    }
}

/// Returns the id of a request in the log, if a layer before the gateway has set one.
fn request_id(extensions: &Extensions) -> Option<String> {
    extensions.get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).map(str::to_owned)
}
