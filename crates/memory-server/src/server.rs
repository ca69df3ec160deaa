//! All of it on one port.

use std::{future::Future, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Request, header::AUTHORIZATION},
    serve::ListenerExt,
};
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
    Debugging, Gateway, Guard, LimitsConfig, Mcp, Mem0, Metrics,
    fault::Fault,
    guard::Wording,
    health,
    hosts::Hosts,
    limits::Limits,
    metrics,
    openapi::{self, Part},
};

/// How long what was said may still take to be stored when the time for everything else is over.
const LAST: Duration = Duration::from_secs(5);
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
    metrics: Option<Metrics>,
    gateway: Option<Gateway>,
    mem0: Option<Mem0>,
    mcp: Option<Mcp>,
    debugging: Option<Debugging>,
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
            metrics: None,
            gateway: None,
            mem0: None,
            mcp: None,
            debugging: None,
        }
    }

    /// Under these limits.
    pub fn limits(mut self, limits: LimitsConfig) -> Self {
        self.limits = limits;
        self
    }

    /// Goes by these names beside those of the loopback. A server that asks for no key refuses what is sent to other names, and
    /// by pages of other origins.
    pub fn allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Web pages of these origins, as `https://chat.example`, may call it. `*` is not for them: a page of anybody's could
    /// read the memories of who looks at it.
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
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// With the chat gateway under `/v1`.
    pub fn gateway(mut self, gateway: Gateway) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// With mem0's routes.
    pub fn mem0(mut self, mem0: Mem0) -> Self {
        self.mem0 = Some(mem0);
        self
    }

    /// With MCP under `/mcp`.
    pub fn mcp(mut self, mcp: Mcp) -> Self {
        self.mcp = Some(mcp);
        self
    }

    /// With the debug API under `/api/memory`.
    pub fn debugging(mut self, debugging: Debugging) -> Self {
        self.debugging = Some(debugging);
        self
    }

    /// Whether nobody is asked for a key.
    pub fn is_open(&self) -> bool {
        self.guard.is_open()
    }

    /// Serves until `stop`. Then it takes no more requests, lets those that are being served come to their end, and has stored
    /// what was said, for as long as the limits allow. What is acknowledged is stored whether or not they do.
    ///
    /// # Errors
    /// `Unavailable` when the listener fails.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let grace = Duration::from_secs(self.limits.shutdown_seconds);
        let gateway = self.gateway.clone();
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let stop = async move {
            stop.await;
            let _ = stopping.send(()); // nobody waits when the listener has failed
        };
        let left = gateway.clone();
        let serving = async {
            // What is streamed in small pieces is not to wait for more.
            let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
            axum::serve(listener, self.router()).with_graceful_shutdown(stop).await?;
            if let Some(gateway) = gateway {
                gateway.drain().await;
            }
            Ok(())
        };
        let too_long = async {
            // Without a stop there is no end to wait for.
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
            () = too_long => {
                tracing::warn!(part = "serve", "some requests were not done within {} s and are dropped", grace.as_secs());
                if let Some(gateway) = left {
                    let _ = tokio::time::timeout(LAST, gateway.keep_all()).await; // it has had its time
                }
                Ok(())
            }
        }
    }

    /// The routes, ready to be served or nested. `/health`, `/ready` and `/openapi.json` ask for no key and have no limits.
    pub fn router(self) -> Router {
        let Self { engine, guard, limits, hosts, origins, metrics, gateway, mem0, mcp, debugging } = self;
        let limits = Limits::new(&limits);
        let within = |part: Router, wording| metrics::count(guard.protect(limits.apply(part, wording), wording));
        let documented = [
            Some(Part::HEALTH),
            metrics.as_ref().map(|_| Part::METRICS),
            gateway.as_ref().map(|_| Part::GATEWAY),
            mem0.as_ref().map(|_| Part::MEM0),
            mcp.as_ref().map(|_| Part::MCP),
            debugging.as_ref().map(|_| Part::DEBUGGING),
        ];
        let documented: Vec<Part> = documented.into_iter().flatten().collect();
        let metrics = metrics.map(|metrics| metrics.router(engine.clone()));
        let parts = [metrics, mem0.map(Mem0::router), mcp.map(Mcp::router), debugging.map(Debugging::router)];
        let mut router = Router::new();
        for part in parts.into_iter().flatten() {
            router = router.merge(within(part, Wording::Mem0));
        }
        if let Some(gateway) = gateway {
            router = router.merge(within(gateway.router(), Wording::OpenAi));
        }
        let router = if guard.is_open() {
            let origins: Vec<String> = origins.iter().filter_map(|o| o.to_str().ok().map(str::to_owned)).collect();
            Hosts::new(&hosts, &origins).watch(router)
        } else {
            router
        };
        let not_found = || async { Fault::not_found("there is no such route; /openapi.json lists them all") };
        // Whoever looks whether the server lives asks by its address.
        let router = router.merge(health::router(engine)).merge(openapi::router(&documented)).fallback(not_found);
        let router = if origins.is_empty() { router } else { router.layer(cors(origins)) };
        // The last layer is the first that a request comes to.
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

/// Method and path: a query may hold what somebody asked.
fn span<B>(request: &Request<B>) -> tracing::Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", method = %request.method(), path = request.uri().path(), id)
}

fn cors(origins: Vec<HeaderValue>) -> CorsLayer {
    // Keys travel in a header that the page sets, not in cookies: credentials stay off.
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any())
}
