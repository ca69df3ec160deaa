//! The server: all parts behind one guard and one set of limits.

mod unread_body;

#[cfg(feature = "oauth")]
use std::sync::Arc;
use std::{future::Future, time::Duration};

use axum::{
    Router,
    extract::{Request as AnyRequest, State},
    http::{HeaderName, HeaderValue, Method, Request, StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use futures::future::join_all;
use memory_engine::{Database, Error, MemoryEngine, Result};
use tokio::net::TcpListener;
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowHeaders, AllowMethods, CorsLayer, ExposeHeaders},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    sensitive_headers::SetSensitiveRequestHeadersLayer,
    trace::TraceLayer,
};

#[cfg(feature = "oauth")]
use crate::guard::TokenVerifier;
use crate::{
    config::LimitsConfig,
    connections::Connections,
    fault::{ErrorFormat, Fault},
    guard::Guard,
    health,
    hosts::AllowedHosts,
    limits::Limits,
    metrics::{self, Metrics},
    openapi,
    part::ServerPart,
};
use unread_body::finish_body;

/// Time limit for background work after the time for requests is over.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const DATABASE: HeaderName = HeaderName::from_static("x-memory-database");

/// The server: the parts that a program serves, behind one guard and one set of limits.
#[derive(Debug)]
#[must_use]
pub struct Server {
    engine: MemoryEngine,
    guard: Guard,
    limits: LimitsConfig,
    hosts: Vec<String>,
    origins: Vec<HeaderValue>,
    database: Option<HeaderValue>,
    parts: Vec<ServerPart>,
    public_parts: Vec<ServerPart>,
}

impl Server {
    /// Creates a server of this engine with the routes `/health`, `/ready` and `/openapi.json`.
    pub fn new(engine: MemoryEngine, guard: Guard) -> Self {
        Self {
            engine,
            guard,
            limits: LimitsConfig::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
            database: None,
            parts: Vec::new(),
            public_parts: Vec::new(),
        }
    }

    /// Sets the database of the engine. A request with a valid key that expects another one, by the hash of its
    /// location in the header `X-Memory-Database`, gets the status 421.
    pub fn database(mut self, database: &Database) -> Self {
        self.database = database.location_hash().parse().ok();
        self
    }

    /// Sets the limits of requests. Default: [`LimitsConfig::default`].
    pub fn limits(mut self, limits: LimitsConfig) -> Self {
        self.limits = limits;
        self
    }

    /// Adds host names to those of the loopback. A server without keys refuses requests to other names, and requests
    /// by pages of other origins.
    pub fn allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Allows web pages of these origins, as `https://chat.example`, to call the server. `*` is not allowed: any page
    /// could then read the memories of the user who opens it.
    ///
    /// # Errors
    /// `InvalidInput` for a text that is not an origin.
    pub fn cors_origins<'o>(mut self, origins: impl IntoIterator<Item = &'o str>) -> Result<Self> {
        for origin in origins {
            let has_scheme = origin.starts_with("http://") || origin.starts_with("https://");
            let header = HeaderValue::from_str(origin).ok().filter(|_| has_scheme && !origin.ends_with('/'));
            self.origins.push(header.ok_or_else(|| {
                let message = format!("'{origin}' is not an origin; write scheme and host, as https://chat.example");
                Error::invalid("config", message)
            })?);
        }
        Ok(self)
    }

    /// Adds the route `/metrics`.
    pub fn metrics(self, metrics: Metrics) -> Self {
        let part = metrics.part(self.engine.clone());
        self.with_part(part)
    }

    /// Adds a part, in place of an earlier one of the same name.
    pub(crate) fn with_part(mut self, part: ServerPart) -> Self {
        self.parts.retain(|other| other.name != part.name);
        self.parts.push(part);
        self
    }

    /// Adds a part that needs no key and has limits of its own, in place of an earlier one of the same name.
    #[cfg(any(feature = "oauth", feature = "ui"))]
    pub(crate) fn with_public_part(mut self, part: ServerPart) -> Self {
        self.public_parts.retain(|other| other.name != part.name);
        self.public_parts.push(part);
        self
    }

    /// Accepts tokens in addition to keys.
    #[cfg(feature = "oauth")]
    pub(crate) fn with_tokens(mut self, tokens: Arc<dyn TokenVerifier>) -> Self {
        self.guard = self.guard.with_tokens(tokens);
        self
    }

    #[cfg(feature = "oauth")]
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    #[cfg(feature = "oauth")]
    pub(crate) fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// Returns true if no key is required.
    pub fn is_open(&self) -> bool {
        self.guard.is_open()
    }

    /// Serves until `stop` completes. Then it accepts no more requests, and waits for running requests and for turns to
    /// be stored, for at most [`LimitsConfig::shutdown_seconds`]. Acknowledged writes are stored in any case.
    ///
    /// # Errors
    /// None at present: a listener that fails is tried again.
    pub async fn serve(mut self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let grace = Duration::from_secs(self.limits.shutdown_seconds);
        let background: Vec<_> = self.parts.iter_mut().filter_map(|part| part.background.take()).collect();
        let (stop_sender, stop_receiver) = tokio::sync::oneshot::channel();
        let stop = async move {
            stop.await;
            let _ = stop_sender.send(()); // Fails only if the server has been dropped.
        };
        let serving = async {
            Connections::new(&self.limits).serve(listener, self.router(), stop).await;
            join_all(background.iter().map(|work| work.drain())).await;
        };
        let grace_over = async {
            // Without a stop there is no deadline.
            match stop_receiver.await {
                Ok(()) => tokio::time::sleep(grace).await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serving => Ok(()),
            () = grace_over => {
                tracing::warn!(part = "serve", "requests that still run after {} s are dropped", grace.as_secs());
                let flush = join_all(background.iter().map(|work| work.flush()));
                let _ = tokio::time::timeout(FLUSH_TIMEOUT, flush).await; // Work that takes longer is dropped.
                Ok(())
            }
        }
    }

    /// Returns the routes, to be served or nested. `/health`, `/ready` and `/openapi.json` require no key and have no
    /// limits.
    pub fn router(self) -> Router {
        let Self { engine, guard, limits, hosts, origins, database, parts, public_parts } = self;
        let limits = Limits::new(&limits);
        let (health, section) = health::routes(engine).finish();
        let mut sections = vec![section, openapi::section()];
        let mut router = Router::new();
        for part in parts {
            let bodies = part.bodies();
            let limited = limits.apply(with_method_faults(part.router, part.errors), part.errors, bodies);
            router = router.merge(metrics::count_requests(guard.protect(limited, part.name, part.errors)));
            let max_bytes = limits.max_body_bytes(bodies);
            sections.extend(part.sections.into_iter().map(|section| section.with_max_body_bytes(max_bytes)));
        }
        for part in public_parts {
            router = router.merge(metrics::count_requests(with_method_faults(part.router, part.errors)));
            sections.extend(part.sections);
        }
        let router = if guard.is_open() {
            let origins: Vec<String> = origins.iter().filter_map(|o| o.to_str().ok().map(str::to_owned)).collect();
            AllowedHosts::new(&hosts, &origins).protect(router)
        } else {
            router
        };
        let not_found = || async { Fault::not_found("no such route; /openapi.json lists all routes") };
        // Health probes have no key, and may send an IP address as the host.
        let public = health.merge(openapi::router(&sections, guard.is_open()));
        let public = with_method_faults(public, Fault::into_response);
        let router = router.merge(public).fallback(not_found);
        let router = if origins.is_empty() { router } else { router.layer(cors(origins)) };
        // A request passes the last layer first.
        router
            .layer(from_fn_with_state((guard, database), check_database))
            .layer(from_fn(finish_body))
            .layer(CatchPanicLayer::new())
            .layer(TraceLayer::new_for_http().make_span_with(span))
            .layer(PropagateRequestIdLayer::new(REQUEST_ID))
            .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
            .layer(SetSensitiveRequestHeadersLayer::new([
                AUTHORIZATION,
                HeaderName::from_static("x-api-key"),
                HeaderName::from_static("x-memory-key"),
            ]))
    }
}

/// Reports a method that a path does not have in the error format of the part.
fn with_method_faults(router: Router, errors: ErrorFormat) -> Router {
    router.method_not_allowed_fallback(async move |method: Method| {
        errors(Fault::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not allowed on this path")))
    })
}

/// Refuses a request for another database, before anything is stored in this one. Without access to memories it makes
/// no difference: the answer would tell a stranger who guesses the path of the database that the guess is right.
async fn check_database(
    State((guard, database)): State<(Guard, Option<HeaderValue>)>,
    request: AnyRequest,
    next: Next,
) -> Response {
    match (&database, request.headers().get(DATABASE)) {
        (Some(own), Some(expected)) if guard.admits(&request) && own != expected => {
            let message = "this server serves another database than the one that the request expects";
            Fault::new(StatusCode::MISDIRECTED_REQUEST, message).into_response()
        }
        _ => next.run(request).await,
    }
}

/// Returns the tracing span of a request: method, path and id. The query may contain a user's question and is left out.
fn span<B>(request: &Request<B>) -> tracing::Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", method = %request.method(), path = request.uri().path(), id)
}

fn cors(origins: Vec<HeaderValue>) -> CorsLayer {
    // Pages send keys in a header and not in cookies, so no credentials are allowed.
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any())
}
