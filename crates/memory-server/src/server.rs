//! The server: all parts behind one guard and one set of limits.

use std::{future::Future, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Request, header::AUTHORIZATION},
    serve::ListenerExt,
};
use futures::future::join_all;
use memory_engine::{Error, ErrorKind, MemoryEngine, Result};
use tokio::net::TcpListener;
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowHeaders, AllowMethods, CorsLayer, ExposeHeaders},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    sensitive_headers::SetSensitiveRequestHeadersLayer,
    trace::TraceLayer,
};

use crate::{
    config::LimitsConfig,
    fault::Fault,
    guard::Guard,
    health,
    hosts::Hosts,
    limits::Limits,
    metrics::{self, Metrics},
    openapi,
    part::Part,
};

/// Time limit for background work after the time for requests is over.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The routers that a program serves, behind one guard and under one set of limits.
#[derive(Debug)]
#[must_use]
pub struct Server {
    engine: MemoryEngine,
    guard: Guard,
    limits: LimitsConfig,
    hosts: Vec<String>,
    origins: Vec<HeaderValue>,
    parts: Vec<Part>,
}

impl Server {
    /// A server of this memory, with `/health`, `/ready`, `/openapi.json` and nothing else.
    pub fn new(engine: MemoryEngine, guard: Guard) -> Self {
        Self {
            engine,
            guard,
            limits: LimitsConfig::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Under these limits.
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

    /// Web pages of these origins, as `https://chat.example`, may call it. `*` is not for them: a page of anybody's
    /// could read the memories of who looks at it.
    ///
    /// # Errors
    /// `InvalidInput` for what is no origin.
    pub fn cors_origins<'o>(mut self, origins: impl IntoIterator<Item = &'o str>) -> Result<Self> {
        for origin in origins {
            let plain = origin.starts_with("http://") || origin.starts_with("https://");
            let origin = HeaderValue::from_str(origin).ok().filter(|_| plain && !origin.ends_with('/'));
            let invalid =
                || Error::invalid("config", "an origin is scheme and host without a path, as https://chat.example");
            self.origins.push(origin.ok_or_else(invalid)?);
        }
        Ok(self)
    }

    /// With `/metrics`.
    pub fn metrics(self, metrics: Metrics) -> Self {
        let part = metrics.part(self.engine.clone());
        self.with_part(part)
    }

    /// Adds a part, in place of an earlier one of the same name.
    pub(crate) fn with_part(mut self, part: Part) -> Self {
        self.parts.retain(|other| other.name != part.name);
        self.parts.push(part);
        self
    }

    /// Returns true if no key is required.
    pub fn is_open(&self) -> bool {
        self.guard.is_open()
    }

    /// Serves until `stop`. Then it accepts no more requests, waits for those being served, and stores what was said,
    /// for as long as the limits allow. What is acknowledged is stored in any case.
    ///
    /// # Errors
    /// `Unavailable` when the listener fails.
    pub async fn serve(mut self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let grace = Duration::from_secs(self.limits.shutdown_seconds);
        let background: Vec<_> = self.parts.iter_mut().filter_map(|part| part.background.take()).collect();
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let stop = async move {
            stop.await;
            let _ = stopping.send(()); // fails only if the listener has failed
        };
        let serving = async {
            // Small pieces of a stream must not wait for more.
            let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
            axum::serve(listener, self.router()).with_graceful_shutdown(stop).await?;
            join_all(background.iter().map(|work| work.drain())).await;
            Ok(())
        };
        let out_of_time = async {
            // Without a stop there is no deadline.
            match stopped.await {
                Ok(()) => tokio::time::sleep(grace).await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serving => {
                served.map_err(|e: std::io::Error| {
                    Error::new(ErrorKind::Unavailable, "serve", "the listener failed").with_source(e)
                })
            }
            () = out_of_time => {
                tracing::warn!(part = "serve", "some requests were not done within {} s and are dropped", grace.as_secs());
                let flush = join_all(background.iter().map(|work| work.flush()));
                let _ = tokio::time::timeout(FLUSH_TIMEOUT, flush).await; // what is late is dropped
                Ok(())
            }
        }
    }

    /// The routes, ready to be served or nested. `/health`, `/ready` and `/openapi.json` ask for no key and have no
    /// limits.
    pub fn router(self) -> Router {
        let Self { engine, guard, limits, hosts, origins, parts } = self;
        let limits = Limits::new(&limits);
        let (health, section) = health::routes(engine).finish();
        let mut sections = vec![section, openapi::section()];
        let mut router = Router::new();
        for part in parts {
            let limited = limits.apply(part.router, part.errors);
            router = router.merge(metrics::count(guard.protect(limited, part.errors)));
            sections.extend(part.sections);
        }
        let router = if guard.is_open() {
            let origins: Vec<String> = origins.iter().filter_map(|o| o.to_str().ok().map(str::to_owned)).collect();
            Hosts::new(&hosts, &origins).watch(router)
        } else {
            router
        };
        let not_found = || async { Fault::not_found("there is no such route; /openapi.json lists them all") };
        // Probes of the server's health address it by IP, and have no key.
        let router = router.merge(health).merge(openapi::router(&sections)).fallback(not_found);
        let router = if origins.is_empty() { router } else { router.layer(cors(origins)) };
        // A request passes the last layer first.
        router
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

/// Logs method and path, and no query: it may contain a user's question.
fn span<B>(request: &Request<B>) -> tracing::Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", method = %request.method(), path = request.uri().path(), id)
}

fn cors(origins: Vec<HeaderValue>) -> CorsLayer {
    // Keys are sent in a header that the page sets, not in cookies: no credentials are allowed.
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any())
}
