//! One chat request: asks the upstream, answers the client, stores the turn.

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
    openai::error_response,
    options::GatewayOptions,
    pending_turn::{Interruption, PendingTurn},
    prompt::Prompt,
    relay::{self, count, upstream_fault},
    reply::ReplyAccumulator,
    stream::relay_stream,
    upstream::Service,
};

/// Maximum number of pieces of a stream that wait for a slow client before the upstream has to wait.
const STREAM_BUFFER_PIECES: usize = 16;

/// One chat request. It runs in a task of its own, so that the turn is stored even if the client disconnects.
pub(super) struct ChatExchange {
    pub(super) service: Arc<Service>,
    pub(super) request: RelayRequest,
    pub(super) is_streamed: bool,
    pub(super) prompt: Arc<Prompt>,
    /// The session, for a response header.
    pub(super) session: Option<HeaderValue>,
    pub(super) turn: PendingTurn,
    pub(super) options: Arc<GatewayOptions>,
}

impl ChatExchange {
    /// Asks the upstream, and answers the client with its reply.
    pub(super) async fn run(mut self, mut client: oneshot::Sender<Response>) {
        let reply = {
            let timeout = if self.is_streamed { self.options.stream_timeout } else { self.options.plain_timeout };
            tokio::select! {
                reply = self.service.relay.send(&self.request, timeout) => reply,
                () = client.closed() => return self.client_disconnected().await,
            }
        };
        match reply {
            Err(e) => {
                let _ = client.send(self.with_headers(error_response(upstream_fault(&e, &self.service.name)), None));
            }
            Ok(reply) => {
                count("answers", reply.status().as_str());
                if reply.status().is_success() && is_event_stream(&reply.headers()) {
                    self.answer_with_stream(reply, client).await;
                } else {
                    self.answer_with_body(reply, client).await;
                }
            }
        }
    }

    async fn answer_with_stream(mut self, reply: RelayReply, client: oneshot::Sender<Response>) {
        let (sender, receiver) = mpsc::channel(STREAM_BUFFER_PIECES);
        let body = Body::from_stream(stream::unfold(receiver, |mut receiver: mpsc::Receiver<Bytes>| async {
            receiver.recv().await.map(|bytes| (Ok::<_, Infallible>(bytes), receiver))
        }));
        let mut response = self.with_headers(relay::response(reply.status(), reply.headers(), body), None);
        // Proxies must not buffer the stream.
        response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        if client.send(response).is_err() {
            return self.client_disconnected().await;
        }
        relay_stream(reply, sender, &self.service.name, &mut self.turn, &self.options).await;
    }

    async fn answer_with_body(mut self, mut reply: RelayReply, mut client: oneshot::Sender<Response>) {
        let (status, headers) = (reply.status(), reply.headers());
        let body = tokio::select! {
            body = reply.rest(self.options.max_reply_bytes) => body,
            () = client.closed() => return self.client_disconnected().await,
        };
        let response = match body {
            Ok(body) => {
                let mut text = ReplyAccumulator::new(self.options.max_reply_bytes);
                if status.is_success() {
                    text.completion(&body);
                }
                let stored = !text.is_whole() || self.turn.store_complete(&text).await;
                let response = relay::response(status, headers, Body::from(body));
                self.with_headers(response, (!stored).then_some("store"))
            }
            Err(e) => self.with_headers(error_response(upstream_fault(&e, &self.service.name)), None),
        };
        let _ = client.send(response);
    }

    /// Stores the question of a client that disconnected before the reply.
    async fn client_disconnected(&mut self) {
        count("clients_gone", &self.service.name);
        self.turn.store_partial(&ReplyAccumulator::new(self.options.max_reply_bytes), Interruption::ClientGone).await;
    }

    /// Adds the headers that report on the memory.
    fn with_headers(&self, mut response: Response, also_degraded: Option<&'static str>) -> Response {
        let headers = response.headers_mut();
        headers.extend(self.prompt.headers(also_degraded));
        if let Some(session) = &self.session {
            headers.insert(HeaderName::from_static("x-memory-session"), session.clone());
        }
        response
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}
