//! A server to test against, on a port of its own.

#![allow(dead_code, reason = "each test takes what it needs of it")]

pub(crate) mod store;
pub(crate) mod upstream;

use std::{sync::Arc, time::Duration};

use axum::Router;
use memory_engine::{MemoryEngine, http_models::Endpoint};
use memory_engine_server::{
    Access, ApiKey, Debugging, Gateway, GatewayOptions, Guard, KeyRing, Mcp, Mem0, Server, Upstream,
};
use tokio::net::TcpListener;
use upstream::ReceivedRequests;

/// A server that runs until its runtime ends.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) upstream: String,
    pub(crate) seen: Arc<ReceivedRequests>,
    pub(crate) engine: MemoryEngine,
    pub(crate) gateway: Gateway,
}

impl Served {
    /// Everything, over an empty memory of its own.
    pub(crate) async fn whole() -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        // With time for a machine that is busy and has not read its dictionary yet.
        let (memory, keep) = (Duration::from_secs(15), Duration::from_secs(15));
        Self::over(engine, GatewayOptions::default().with_deadlines(memory, keep)).await
    }

    /// Everything, over this memory.
    pub(crate) async fn over(engine: MemoryEngine, options: GatewayOptions) -> Self {
        let key = ApiKey::generate();
        let access = Access::tenant("tests", "acme").unwrap();
        let guard = Guard::keys(KeyRing::default().with_key(&key, access));
        let seen = Arc::new(ReceivedRequests::default());
        let upstream = listen(upstream::router(seen.clone())).await;
        let endpoint = Endpoint::new(&format!("{upstream}/v1")).unwrap();
        let gateway = Gateway::new(engine.clone(), vec![Upstream::new("scripted", endpoint)], options).unwrap();
        let server = Server::new(engine.clone(), guard)
            .gateway(gateway.clone())
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .debugging(Debugging::new(engine.clone()));
        let url = listen(server.router()).await;
        Self { url, key: key.reveal().to_owned(), upstream, seen, engine, gateway }
    }
}

/// Serves a router, and says where.
pub(crate) async fn listen(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}
