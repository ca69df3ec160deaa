//! The memory as tools of the Model Context Protocol.

mod caller;
mod context;
mod host;
mod memory;
mod options;
mod schema;
mod tools;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, header::ACCEPT},
    middleware::{Next, from_fn},
    response::Response,
};
use jiff::tz::TimeZone;
use memory_engine::{Error, ErrorKind, MemoryEngine, Result, context::TokenCounter};
use rmcp::{
    ServiceExt,
    transport::streamable_http_server::{StreamableHttpService, session::never::NeverSessionManager},
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Access, Owner, fault::Fault};

pub(crate) use caller::Caller;
use host::Host;
pub use options::McpOptions;

/// What every answer of ours is, whatever the protocol has a client accept beside it.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The memory as tools of the Model Context Protocol, over HTTP (`/mcp`) or over a pair of pipes.
///
/// It speaks the revisions of the protocol with a handshake and those without one, and keeps nothing about its clients.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mcp {
    host: Host,
    options: McpOptions,
}

impl Mcp {
    /// Over this memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { host: Host::new(engine), options: McpOptions::default() }
    }

    /// With these options.
    pub fn with_options(mut self, options: McpOptions) -> Self {
        self.options = options;
        self
    }

    /// Shows times in this zone instead of UTC, and reads those that name none in it.
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.host.zone = zone;
        self
    }

    /// Counts the tokens of a context by this instead of by an estimate that errs on the high side.
    pub fn with_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.host.counter = counter;
        self
    }

    /// Works for this owner where a request names no user and its key is for all of them; for one called `default`, otherwise. A key
    /// for several users has to be told which.
    pub fn with_owner(mut self, owner: Owner) -> Self {
        self.host.owner = owner;
        self
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        let Self { host, options } = self;
        let service = StreamableHttpService::new(
            move || Ok(host.clone()),
            Arc::new(NeverSessionManager::default()),
            options.config(),
        );
        let routes = Router::new().route_service("/mcp", service.clone()).route_service("/mcp/", service);
        routes.layer(from_fn(identify))
    }

    /// Serves one client over standard input and output, line by line, until it goes away.
    ///
    /// Whatever else writes to standard output breaks the protocol: logs go to standard error.
    ///
    /// # Errors
    /// `Unavailable` when what comes in is no such client.
    pub async fn stdio(self, access: Access) -> Result<()> {
        let (input, output) = rmcp::transport::io::stdio();
        self.serve(access, input, output).await
    }

    /// The same over any two pipes.
    ///
    /// # Errors
    /// As [`stdio`](Self::stdio).
    pub async fn serve(
        self,
        access: Access,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<()> {
        let failed =
            |e| Error::new(ErrorKind::Unavailable, "mcp", "the client broke off before it began").with_source(e);
        let mut host = self.host;
        host.access = Some(access);
        let running = match host.serve((input, output)).await {
            Ok(running) => running,
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(e) => return Err(failed(e)),
        };
        let stopped = |e| Error::new(ErrorKind::Internal, "mcp", "serving the client broke off").with_source(e);
        running.waiting().await.map(drop).map_err(stopped)
    }
}

/// Finds out who asks and for whom, and has clients that take any answer take ours.
async fn identify(access: Access, mut request: Request, next: Next) -> Result<Response, Fault> {
    let owner = caller::named(request.uri(), request.headers())?;
    request.extensions_mut().insert(Caller { access, owner });
    if takes_json(request.headers()) {
        request.headers_mut().insert(ACCEPT, BOTH);
    }
    Ok(next.run(request).await)
}

/// Whether a client takes JSON, and says nothing about the event streams that the protocol wants named, too: we answer in JSON
/// only.
fn takes_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).map(|kind| kind.trim().to_ascii_lowercase()).peekable();
    let json = ["*/*", "application/*", "application/json"];
    kinds.peek().is_none() || kinds.any(|kind| json.contains(&kind.as_str()))
}
