//! `POST /v1/chat/completions`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension,
    extract::{Path, Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode, Uri, header::AUTHORIZATION},
    response::Response,
};
use bytes::Bytes;
use memory_engine::http_models::RelayRequest;
use tokio::sync::oneshot;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use super::{
    Inner, body::ChatBody, course::Course, prompt::Prompt, thread::Thread, turn::Turn, upstream::Route, who::Who,
};
use crate::{Access, fault::Fault};

/// What the memory does with a request, as the header `X-Memory` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It reads and writes.
    On,
    /// It reads.
    Read,
    /// Nothing.
    Off,
}

pub(super) async fn chat(
    State(gateway): State<Arc<Inner>>,
    access: Option<Extension<Access>>,
    Path(path): Path<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    match gateway.course(access, &path, request).await {
        Ok(course) => {
            let (client, answered) = oneshot::channel();
            gateway.tasks.spawn(course.run(client).in_current_span());
            let stopped = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the gateway stopped").into_openai();
            answered.await.unwrap_or_else(stopped)
        }
        Err(fault) => fault.into_openai(),
    }
}

impl Inner {
    async fn course(
        &self,
        access: Option<Extension<Access>>,
        path: &BTreeMap<String, String>,
        request: Request,
    ) -> Result<Course, Fault> {
        let access = admitted(access)?;
        let (parts, body) = request.into_parts();
        let mode = Mode::of(&parts.headers)?;
        let body = ChatBody::read(self.bytes(body).await?).map_err(Fault::bad_request)?;
        let Route { service, model } = self.route(body.model())?;
        let thread = Thread::of(body.said());
        let who = Who::of(&access, (&parts.headers, path, body.owner()), &self.options.user, &thread)?;
        let asked_at = self.options.clock.now();
        let prompt =
            if mode == Mode::Off { Arc::new(Prompt::default()) } else { self.prompter.prompt(&who, &thread).await };
        let written = body.written(model.as_deref(), &prompt.block);
        let request = relayed(Method::POST, &["chat", "completions"], &parts.uri, parts.headers, written);
        let key = thread.key().filter(|_| mode == Mode::On);
        let turn = key.map(|key| Turn {
            address: who.address.clone(),
            key,
            said: thread.open(),
            before: thread.before().cloned(),
            scene: prompt.scene.clone(),
            model,
            injected: prompt.ids.clone(),
            partial: None,
            asked_at,
            answered_at: None,
            clock: Arc::clone(&self.options.clock),
            request: request_id(&parts.extensions),
        });
        let session = who.session().filter(|_| mode != Mode::Off);
        let (keeper, options) = (self.keeper.clone(), Arc::clone(&self.options));
        Ok(Course { service, request, streamed: body.is_streamed(), prompt, session, turn, keeper, options })
    }

    /// The body of a request as a whole.
    pub(super) async fn bytes(&self, body: axum::body::Body) -> Result<Bytes, Fault> {
        let most = self.options.max_request_bytes;
        let refused = |_| {
            let message = format!("the body could not be read, or has more than the {most} bytes that are taken here");
            Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        axum::body::to_bytes(body, most).await.map_err(refused)
    }

    /// Where a model is.
    pub(super) fn route(&self, model: Option<&str>) -> Result<Route, Fault> {
        let unknown = || {
            let model: String = model.unwrap_or_default().chars().take(200).collect();
            Fault::not_found(format!("no upstream takes the model '{model}'; GET /v1/models lists those there are"))
        };
        self.upstreams.route(model).ok_or_else(unknown)
    }
}

impl Mode {
    fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        match headers
            .get("x-memory")
            .map(|value| value.to_str().unwrap_or_default().trim().to_ascii_lowercase())
            .as_deref()
        {
            None | Some("" | "on") => Ok(Self::On),
            Some("read") => Ok(Self::Read),
            Some("off") => Ok(Self::Off),
            Some(_) => Err(Fault::bad_request("X-Memory is `on`, `read` (nothing is stored) or `off`")),
        }
    }
}

/// What the log calls a request, where something before us has named it.
fn request_id(extensions: &Extensions) -> Option<String> {
    extensions.get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).map(str::to_owned)
}

/// Who asks.
pub(super) fn admitted(access: Option<Extension<Access>>) -> Result<Access, Fault> {
    let unguarded = || Fault::new(StatusCode::UNAUTHORIZED, "no guard stands before this router");
    access.map(|Extension(access)| access).ok_or_else(unguarded)
}

/// A request as the service gets it: without what is said to us only.
pub(super) fn relayed(method: Method, path: &[&str], uri: &Uri, mut headers: HeaderMap, body: Bytes) -> RelayRequest {
    let ours = |name: &str| {
        name.starts_with("x-memory") || matches!(name, "x-api-key" | "x-session-id" | "x-user-id" | "x-agent-id")
    };
    let names: Vec<_> = headers.keys().filter(|name| ours(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    // A scheme without a key, as a client sends that has none.
    if headers.get(AUTHORIZATION).is_some_and(|value| !value.as_bytes().trim_ascii().contains(&b' ')) {
        headers.remove(AUTHORIZATION);
    }
    RelayRequest::new(method, path).with_query(uri.query()).with_headers(headers).with_body(body)
}
