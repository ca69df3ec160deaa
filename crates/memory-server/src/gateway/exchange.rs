//! One chat request: sends it to the upstream, passes the reply to the client, and stores the turn.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use futures::stream;
use memory_engine::http_models::{RelayReply, RelayRequest};
use tokio::sync::{mpsc, oneshot};

use super::{
    conversion::Conversion,
    dialect::Dialect,
    options::GatewayOptions,
    pending_turn::{Interruption, PendingTurn},
    prompt::Prompt,
    relay::{self, count_event, upstream_fault},
    reply::ReplyAccumulator,
    stream::{StreamDialects, relay_stream},
    upstream::Service,
};

/// Maximum number of chunks of a stream that are buffered for a slow client. Then no more is read from the upstream.
const STREAM_BUFFER_CHUNKS: usize = 16;

/// One chat request. It runs in a separate task, so that the turn is stored even if the client disconnects.
pub(super) struct ChatExchange {
    pub(super) service: Arc<Service>,
    /// The dialect of the client.
    pub(super) dialect: Dialect,
    /// `None` if the upstream speaks the dialect of the client.
    pub(super) conversion: Option<Conversion>,
    pub(super) request: RelayRequest,
    pub(super) is_streamed: bool,
    pub(super) prompt: Arc<Prompt>,
    /// The session, for a response header.
    pub(super) session: Option<HeaderValue>,
    pub(super) turn: PendingTurn,
    pub(super) options: Arc<GatewayOptions>,
}

impl ChatExchange {
    /// Sends the request to the upstream, and its reply to the client.
    pub(super) async fn run(mut self, mut client: oneshot::Sender<Response>) {
        let timeout = if self.is_streamed { self.options.stream_timeout } else { self.options.plain_timeout };
        let reply = tokio::select! {
            reply = self.service.relay(self.upstream_dialect()).send(&self.request, timeout) => reply,
            () = client.closed() => return self.client_disconnected().await,
        };
        match reply {
            Err(e) => {
                let response = self.dialect.error_response(upstream_fault(&e, &self.service.name));
                let _ = client.send(self.with_memory_headers(response, None));
            }
            Ok(reply) => {
                count_event("answers", reply.status().as_str());
                if reply.status().is_success() && is_event_stream(&reply.headers()) {
                    self.answer_with_stream(reply, client).await;
                } else {
                    self.answer_with_body(reply, client).await;
                }
            }
        }
    }

    fn upstream_dialect(&self) -> Dialect {
        if self.conversion.is_some() { Dialect::Chat } else { self.dialect }
    }

    /// Forwards a reply as it arrives.
    async fn answer_with_stream(mut self, reply: RelayReply, client: oneshot::Sender<Response>) {
        let (sender, receiver) = mpsc::channel(STREAM_BUFFER_CHUNKS);
        let body = Body::from_stream(stream::unfold(receiver, |mut receiver: mpsc::Receiver<Bytes>| async {
            receiver.recv().await.map(|bytes| (Ok::<_, Infallible>(bytes), receiver))
        }));
        let mut response = self.with_memory_headers(relay::response(reply.status(), reply.headers(), body), None);
        // Proxies must not buffer the stream.
        response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        if client.send(response).is_err() {
            return self.client_disconnected().await;
        }
        let dialects = StreamDialects {
            client: self.dialect,
            upstream: self.upstream_dialect(),
            converter: self.conversion.as_ref().and_then(Conversion::events),
        };
        relay_stream(reply, sender, &self.service.name, dialects, &mut self.turn, &self.options).await;
    }

    /// Forwards a reply after all of it has arrived and its turn is stored.
    async fn answer_with_body(mut self, mut reply: RelayReply, mut client: oneshot::Sender<Response>) {
        let status = reply.status();
        let headers = reply.headers();
        let body = tokio::select! {
            body = reply.rest(self.options.max_reply_bytes) => body,
            () = client.closed() => return self.client_disconnected().await,
        };
        let response = match body {
            Ok(body) => {
                let mut accumulator = ReplyAccumulator::new(self.options.max_reply_bytes);
                if status.is_success() {
                    self.upstream_dialect().add_body(&mut accumulator, &body);
                    accumulator.usage().count(&self.service.name);
                    self.turn.record_owner(&accumulator).await;
                }
                let mut failed_stage = None;
                if accumulator.is_complete() && !self.turn.store_complete(&accumulator).await {
                    failed_stage = Some("store");
                }
                let service = &self.service.name;
                let body = match &self.conversion {
                    Some(conversion) => conversion.body(status, body, service),
                    None => Ok(body),
                };
                let response = match body {
                    Ok(body) => relay::json_response(status, headers, body, service, self.dialect),
                    Err(fault) => self.dialect.error_response(fault),
                };
                self.with_memory_headers(response, failed_stage)
            }
            Err(e) => {
                self.with_memory_headers(self.dialect.error_response(upstream_fault(&e, &self.service.name)), None)
            }
        };
        // Fails if the client has gone. The turn is stored by now.
        let _ = client.send(response);
    }

    /// Stores the question of a client that disconnected before the reply.
    async fn client_disconnected(&mut self) {
        count_event("clients_gone", &self.service.name);
        self.turn.store_partial(&ReplyAccumulator::new(self.options.max_reply_bytes), Interruption::ClientGone).await;
    }

    /// Adds the headers that report on the memory. `failed_stage` is reported in addition to those of the prompt.
    fn with_memory_headers(&self, mut response: Response, failed_stage: Option<&'static str>) -> Response {
        let headers = response.headers_mut();
        headers.extend(self.prompt.headers(failed_stage));
        if let Some(session) = &self.session {
            headers.insert(HeaderName::from_static("x-memory-session"), session.clone());
        }
        response
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}
