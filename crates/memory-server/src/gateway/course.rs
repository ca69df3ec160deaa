//! The course of one request: asked, answered, passed back, remembered.

use std::{convert::Infallible, pin::pin, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures::stream;
use memory_engine::{
    Error, ErrorKind,
    http_models::{RelayReply, RelayRequest, SseEvents},
};
use serde_json::json;
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

use super::{
    GatewayOptions,
    frames::{Frames, Passed},
    heard::Heard,
    keeper::Keeper,
    prompt::Prompt,
    thread,
    turn::Turn,
    upstream::Service,
};
use crate::fault::Fault;

/// How many pieces of a stream may wait for a client that reads slowly, before the service has to wait, too.
const AHEAD: usize = 16;
const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");
const NOT_STORED: Bytes = Bytes::from_static(b": memory degraded: store\n\n");

/// The course of one request. It runs in a task of its own, so that what was heard is remembered when the client is gone.
pub(super) struct Course {
    pub(super) service: Arc<Service>,
    pub(super) request: RelayRequest,
    pub(super) streamed: bool,
    pub(super) prompt: Arc<Prompt>,
    /// The session, to be told.
    pub(super) session: Option<HeaderValue>,
    /// The turn, as far as it is known before the reply; `None` when nothing is to be remembered.
    pub(super) turn: Option<Turn>,
    pub(super) keeper: Keeper,
    pub(super) options: Arc<GatewayOptions>,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    ClientGone,
    BrokenOff,
    Failed,
}

impl Course {
    /// Asks the service, and answers the client with what it says.
    pub(super) async fn run(mut self, mut client: oneshot::Sender<Response>) {
        let patience = if self.streamed { self.options.stream_patience } else { self.options.plain_patience };
        let asked = tokio::select! {
            asked = self.service.relay.send(&self.request, patience) => asked,
            () = client.closed() => return self.client_is_gone(&self.nothing_heard()).await,
        };
        let mut reply = match asked {
            Ok(reply) => reply,
            Err(e) => {
                let _ = client.send(self.told(failed(&e, &self.service.name).into_openai(), None));
                return;
            }
        };
        let (status, headers) = (reply.status(), reply.headers());
        count("answers", status.as_str());
        if status.is_success() && is_event_stream(&headers) {
            let (passing, passed) = mpsc::channel(AHEAD);
            let body = Body::from_stream(stream::unfold(passed, |mut passed: mpsc::Receiver<Bytes>| async {
                passed.recv().await.map(|bytes| (Ok::<_, Infallible>(bytes), passed))
            }));
            let mut response = self.told(answer(status, headers, body), None);
            // What stands before us must not gather it.
            response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
            match client.send(response) {
                Ok(()) => self.pass_on(reply, passing).await,
                Err(_) => self.client_is_gone(&self.nothing_heard()).await,
            }
            return;
        }
        let body = tokio::select! {
            body = reply.rest(self.options.max_reply_bytes) => body,
            () = client.closed() => return self.client_is_gone(&self.nothing_heard()).await,
        };
        let response = match body {
            Ok(body) => {
                let mut heard = self.nothing_heard();
                if status.is_success() {
                    heard.completion(&body);
                }
                let stored = !heard.is_whole() || self.remember(&heard, Ending::Whole).await;
                self.told(answer(status, headers, Body::from(body)), (!stored).then_some("store"))
            }
            Err(e) => self.told(failed(&e, &self.service.name).into_openai(), None),
        };
        let _ = client.send(response);
    }

    /// Passes a stream on, event by event, and remembers it before its end is told.
    async fn pass_on(&mut self, mut reply: RelayReply, client: mpsc::Sender<Bytes>) {
        let (mut heard, mut frames) = (self.nothing_heard(), Frames::new(self.options.max_reply_bytes));
        // What the frames pass as whole is not held here.
        let mut events = SseEvents::new(usize::MAX);
        let mut kept = false;
        loop {
            let came = {
                let mut next = pin!(reply.next());
                loop {
                    tokio::select! {
                        came = &mut next => break came,
                        () = client.closed() => break Ok(None),
                        () = sleep(self.options.keep_alive) => {
                            if !frames.is_open() {
                                let _ = client.send(KEEP_ALIVE).await;
                            }
                        }
                    }
                }
            };
            if client.is_closed() {
                if !kept {
                    self.client_is_gone(&heard).await;
                }
                return;
            }
            let was_open = frames.is_open();
            let (Passed { bytes, whole }, over) = match came {
                Ok(Some(bytes)) => (frames.feed(&bytes), None),
                Ok(None) => (ended(frames.rest()), Some(None)),
                Err(e) => (Passed::default(), Some(Some(e))),
            };
            // What cannot be read is passed on all the same.
            if events.feed(&whole).is_ok() {
                loop {
                    match events.next() {
                        Ok(Some(data)) => heard.event(&data),
                        Ok(None) => break,
                        // One line less is understood.
                        Err(_) => {}
                    }
                }
            }
            if frames.has_missed() {
                heard.miss();
            }
            if !kept && heard.is_whole() {
                kept = true;
                // Within an event there is no room for a comment.
                if !self.remember(&heard, Ending::Whole).await && !was_open {
                    let _ = client.send(NOT_STORED).await;
                }
            }
            if !bytes.is_empty() {
                let _ = client.send(bytes).await;
            }
            if let Some(error) = over {
                return self.end(error, &heard, &frames, kept, &client).await;
            }
        }
    }

    /// The service has ended the stream, or it broke. An ending that the service has not told is never made up.
    async fn end(
        &mut self,
        error: Option<Error>,
        heard: &Heard,
        frames: &Frames,
        kept: bool,
        client: &mpsc::Sender<Bytes>,
    ) {
        if heard.is_whole() {
            return;
        }
        // What nobody heard may have told the end.
        if error.is_none() && frames.has_missed() && !heard.has_failed() {
            self.remember(heard, Ending::Whole).await;
            return;
        }
        if heard.has_failed() {
            if !kept {
                self.remember(heard, Ending::Failed).await;
            }
            return;
        }
        if !kept {
            self.remember(heard, Ending::BrokenOff).await;
        }
        count("broken_off", &self.service.name);
        let late = error.is_some_and(|e| e.kind() == ErrorKind::Timeout);
        let what = if late { "stopped for too long" } else { "broke off before its end" };
        let message = format!("the reply of the upstream '{}' {what}", self.service.name);
        let error = json!({ "message": message, "type": "server_error", "param": null, "code": "stream_broken" });
        // Half of an event that has gone on is ended first.
        let before = if frames.is_open() { "\n\n" } else { "" };
        let _ = client.send(Bytes::from(format!("{before}data: {}\n\n", json!({ "error": error })))).await;
    }

    fn nothing_heard(&self) -> Heard {
        Heard::new(self.options.max_reply_bytes)
    }

    async fn client_is_gone(&mut self, heard: &Heard) {
        count("clients_gone", &self.service.name);
        self.remember(heard, Ending::ClientGone).await;
    }

    /// Remembers the turn, as far as there is one; `false` when it should have been stored and is not.
    async fn remember(&mut self, heard: &Heard, ending: Ending) -> bool {
        let Some(mut turn) = self.turn.take() else { return true };
        // A call of tools is no answer yet: the turn comes with it.
        if heard.calls_tools() {
            return true;
        }
        // A reply that is continued begins with what was there of it.
        let reply = format!("{}{}", turn.said.assistant, heard.text());
        turn.said.assistant = thread::spoken(&reply);
        // What the service has not answered, the client asks again.
        let unanswered = heard.text().is_empty() && matches!(ending, Ending::BrokenOff | Ending::Failed);
        if unanswered || (turn.said.user.is_empty() && turn.said.assistant.is_empty()) {
            return true;
        }
        turn.answered_at = Some(turn.clock.now());
        turn.partial = match ending {
            Ending::Whole => heard.is_cut().then_some("too_long"),
            Ending::ClientGone => Some("client_gone"),
            Ending::BrokenOff => Some("broken_off"),
            Ending::Failed => Some("failed"),
        };
        self.keeper.keep(turn).await
    }

    /// An answer with what there is to tell about the memory.
    fn told(&self, mut response: Response, degraded: Option<&'static str>) -> Response {
        let headers = response.headers_mut();
        headers.extend(self.prompt.headers(degraded));
        if let Some(session) = &self.session {
            headers.insert(HeaderName::from_static("x-memory-session"), session.clone());
        }
        response
    }
}

/// The rest of a stream that ends without a blank line: an event all the same, when it is a whole one.
fn ended(rest: Bytes) -> Passed {
    let text = String::from_utf8_lossy(&rest);
    let data = text.trim_end().lines().last().and_then(|line| line.strip_prefix("data:")).map(str::trim);
    let is_whole =
        data.is_some_and(|data| data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok());
    if !is_whole {
        return Passed::default();
    }
    let bytes = Bytes::from([rest.as_ref(), b"\n\n"].concat());
    Passed { whole: bytes.clone(), bytes }
}

pub(super) fn answer(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Why the service could not be asked. A client may try again by itself: the status says so.
pub(super) fn failed(error: &Error, service: &str) -> Fault {
    count("upstream_errors", service);
    let (status, what) = if error.kind() == ErrorKind::Timeout {
        (StatusCode::GATEWAY_TIMEOUT, "did not answer in time")
    } else if error.kind() == ErrorKind::Corrupt {
        (StatusCode::BAD_GATEWAY, "gave an answer that is too large")
    } else {
        (StatusCode::BAD_GATEWAY, "cannot be reached, or hung up")
    };
    tracing::warn!(upstream = service, %error, "an upstream failed");
    Fault::new(status, format!("the upstream '{service}' {what}"))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

fn count(what: &'static str, of: &str) {
    metrics::counter!("memory_gateway_events_total", "event" => what, "of" => of.to_owned()).increment(1);
}
