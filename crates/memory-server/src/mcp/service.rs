//! The public handle of MCP.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, header::ACCEPT},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use jiff::tz::TimeZone;
use memory_engine::{
    Error, ErrorKind, MemoryEngine, Result, audit::AuditContext, context::TokenCounter, requests::ChatCommand,
};
use rmcp::{
    ServiceExt,
    transport::streamable_http_server::{StreamableHttpService, session::never::NeverSessionManager},
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    api,
    caller::{self, Caller},
    host::Host,
    lines,
    options::McpOptions,
    parse_error::report_parse_errors,
};
use crate::{
    access::{Access, Owner},
    config::{Config, Variables},
    fault::Fault,
    part::ServerPart,
    server::Server,
};

/// The media types that the protocol requires a client to accept. All responses are JSON.
const PROTOCOL_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The memory as tools of the Model Context Protocol, over HTTP (`/mcp`) or over a pair of pipes.
///
/// Revisions of the protocol with and without a handshake are supported. The server keeps no state about its clients.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mcp {
    host: Host,
    options: McpOptions,
}

impl Mcp {
    /// Creates the tools over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self { host: Host::new(engine), options: McpOptions::default() }
    }

    /// Sets the options of HTTP.
    pub fn with_options(mut self, options: McpOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the time zone of times that are shown, and of times without a zone. Default: that of the engine.
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.host.memory.default_zone = zone;
        self
    }

    /// Sets the requests about the memory itself that a person can make. Only
    /// [`OffTheRecord`](ChatCommand::OffTheRecord) applies to a quote that is added. Default: all.
    pub fn with_commands(mut self, commands: impl Into<Vec<ChatCommand>>) -> Self {
        self.host.memory.commands = commands.into();
        self
    }

    /// Sets the token counter of contexts. Default: an estimate that errs on the high side.
    pub fn with_counter(mut self, counter: impl TokenCounter) -> Self {
        self.host.memory.counter = Arc::new(counter);
        self
    }

    /// Sets the owner for requests that name no user, if their key is for all users. Default: the user `default`. With
    /// a key for several users, a request must name one.
    pub fn with_owner(mut self, owner: Owner) -> Self {
        self.host.owner = owner;
        self
    }

    pub(crate) fn part(self) -> ServerPart {
        let Self { host, options } = self;
        let max_body_bytes = options.max_body_bytes;
        let service = StreamableHttpService::new(
            move || Ok(host.clone()),
            Arc::new(NeverSessionManager::default()),
            options.config(),
        );
        let routes = Router::new().route_service("/mcp", service.clone()).route_service("/mcp/", service);
        let routes = routes.layer(from_fn_with_state(max_body_bytes, report_parse_errors));
        let router = routes.layer(from_fn(identify));
        ServerPart {
            name: "mcp",
            router,
            sections: vec![api::section()],
            errors: Fault::into_response,
            background: None,
        }
    }

    /// Serves one client over standard input and output, line by line, until it disconnects.
    ///
    /// Standard output belongs to the protocol, so logs must go to standard error.
    ///
    /// # Errors
    /// `Unavailable` if the client does not complete the handshake.
    pub async fn stdio(self, access: Access) -> Result<()> {
        let (input, output) = rmcp::transport::io::stdio();
        self.serve(access, input, output).await
    }

    /// Serves one client over any two pipes, as [`stdio`](Self::stdio) does.
    ///
    /// # Errors
    /// The errors of [`stdio`](Self::stdio).
    pub async fn serve(
        self,
        access: Access,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<()> {
        let handshake_failed =
            |e| Error::new(ErrorKind::Unavailable, "mcp", "the handshake with the client failed").with_source(e);
        let mut host = self.host;
        host.access = Some(access);
        host.actor = AuditContext::current().actor().cloned();
        let stopped =
            |e| Error::new(ErrorKind::Internal, "mcp", "the task that serves the client stopped").with_source(e);
        let (input, output, writer) = lines::connect(input, output);
        let served = match host.serve((input, output)).await {
            Ok(running) => running.waiting().await.map(drop).map_err(stopped),
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(handshake_failed(e)),
        };
        // The last answer is written before the process ends.
        writer.await.map_err(stopped)?;
        served
    }
}

impl Server {
    /// Adds MCP under `/mcp`.
    pub fn mcp(self, mcp: Mcp) -> Self {
        self.with_part(mcp.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    if !config.mcp.enabled {
        return Ok(None);
    }
    let mut options = McpOptions::default().with_max_body_bytes(config.limits.max_memory_body_bytes);
    options.allowed_hosts.extend_from_slice(&config.allowed_hosts);
    options.allowed_origins.extend(config.mcp.allowed_origins.iter().chain(&config.cors_origins).cloned());
    let mcp = Mcp::new(engine.clone())
        .with_options(options)
        .with_owner(Owner::user(&config.user))
        .with_commands(config.chat_commands.clone());
    Ok(Some(mcp.part()))
}

/// Adds the caller to the request, and completes the `Accept` header of clients that accept JSON.
async fn identify(access: Access, mut request: Request, next: Next) -> Result<Response, Fault> {
    let owner = caller::named_owner(request.uri(), request.headers())?;
    request.extensions_mut().insert(Caller { access, owner });
    if accepts_json(request.headers()) {
        request.headers_mut().insert(ACCEPT, PROTOCOL_TYPES);
    }
    Ok(next.run(request).await)
}

/// Returns true if the client accepts JSON. The protocol also requires event streams, but all responses are JSON.
fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).map(|kind| kind.trim().to_ascii_lowercase()).peekable();
    let json = ["*/*", "application/*", "application/json"];
    types.peek().is_none() || types.any(|media_type| json.contains(&media_type.as_str()))
}
