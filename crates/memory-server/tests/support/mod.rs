//! A server to test against, on its own port.

#![allow(dead_code, reason = "not every test uses all of it")]

pub(crate) mod native_upstream;
pub(crate) mod store;
pub(crate) mod upstream;

use std::{sync::Arc, time::Duration};

use axum::Router;
use memory_engine::{MemoryEngine, http_models::Endpoint};
use memory_engine_server::{
    Access, ApiKey, Debugging, Dialect, Gateway, GatewayOptions, Guard, HookOptions, Hooks, KeyRing, Mcp, Mem0, OAuth,
    Server, Tools, Upstream,
};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use upstream::ReceivedRequests;

/// A time limit that is only reached if something hangs: a busy machine first has to load its dictionary.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Waits until a condition holds, and fails after [`TIME_LIMIT`].
pub(crate) async fn wait_until(condition: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + TIME_LIMIT;
    while !is_true().await {
        assert!(Instant::now() < deadline, "not within {TIME_LIMIT:?}: {condition}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A server that runs until its runtime ends.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) upstream: String,
    pub(crate) received: Arc<ReceivedRequests>,
    /// The requests that the upstream of the models `native-…` received. It speaks Anthropic's messages and OpenAI's
    /// responses.
    pub(crate) received_natively: Arc<ReceivedRequests>,
    pub(crate) engine: MemoryEngine,
    pub(crate) gateway: Gateway,
}

impl Served {
    /// Starts a server with all parts, both upstreams and an empty in-memory engine.
    pub(crate) async fn whole() -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        Self::with_both_upstreams(engine, GatewayOptions::default().with_deadlines(TIME_LIMIT, TIME_LIMIT)).await
    }

    /// Starts a server with all parts and this engine.
    pub(crate) async fn with_engine(engine: MemoryEngine, options: GatewayOptions) -> Self {
        Self::start(engine, options, false).await
    }

    /// Starts a server with all parts, this engine, and a second upstream for the models `native-…`.
    pub(crate) async fn with_both_upstreams(engine: MemoryEngine, options: GatewayOptions) -> Self {
        Self::start(engine, options, true).await
    }

    async fn start(engine: MemoryEngine, options: GatewayOptions, has_native: bool) -> Self {
        let key = ApiKey::generate();
        let access = Access::tenant("tests", "acme").unwrap();
        let guard = Guard::keys(KeyRing::default().with_key(&key, access));
        let received = Arc::new(ReceivedRequests::default());
        let upstream = listen(upstream::router(received.clone())).await;
        let endpoint = Endpoint::new(&format!("{upstream}/v1")).unwrap();
        let mut upstreams = vec![Upstream::new("scripted", endpoint)];
        let received_natively = Arc::new(ReceivedRequests::default());
        if has_native {
            let native = listen(native_upstream::router(received_natively.clone())).await;
            let native = Upstream::new("native", Endpoint::new(&format!("{native}/v1")).unwrap());
            upstreams.push(native.with_models(["native-*"]).with_dialects([Dialect::Messages, Dialect::Responses]));
        }
        let gateway = Gateway::new(engine.clone(), upstreams, options).unwrap();
        let mut hook_options = HookOptions::default();
        hook_options.deadline = TIME_LIMIT;
        // The public address has the port, so that the port is chosen first.
        let (listener, url) = bind().await;
        let server = Server::new(engine.clone(), guard)
            .gateway(gateway.clone())
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .hooks(Hooks::new(engine.clone()).with_options(hook_options))
            .tools(Tools::new(engine.clone()))
            .debugging(Debugging::new(engine.clone()))
            .oauth(OAuth::new(&url, "a secret of at least 32 characters").unwrap())
            .unwrap();
        serve(listener, server.router());
        Self { url, key: key.reveal().to_owned(), upstream, received, received_natively, engine, gateway }
    }
}

/// Serves a router, and returns its base URL.
pub(crate) async fn listen(router: Router) -> String {
    let (listener, url) = bind().await;
    serve(listener, router);
    url
}

/// Chooses a port. Returns the base URL as well.
async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, format!("http://{address}"))
}

fn serve(listener: TcpListener, router: Router) {
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
}
