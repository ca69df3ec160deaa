//! A server to test against, on a port of its own.

#![allow(dead_code, reason = "each test takes what it needs of it")]

use axum::Router;
use memory_engine::MemoryEngine;
use memory_engine_server::{Access, ApiKey, Debugging, Gateway, Guard, KeyRing, Mcp, Mem0, Server};
use tokio::net::TcpListener;

/// A server that runs until its runtime ends.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) upstream: String,
    pub(crate) engine: MemoryEngine,
}

impl Served {
    /// Everything, over an empty memory of its own.
    pub(crate) async fn whole() -> Self {
        let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
        let key = ApiKey::generate();
        let access = Access::tenant("tests", "acme").unwrap();
        let guard = Guard::keys(KeyRing::default().with_key(&key, access));
        let upstream = String::new();
        let server = Server::new(engine.clone(), guard)
            .gateway(Gateway::new(engine.clone()))
            .mem0(Mem0::new(engine.clone()))
            .mcp(Mcp::new(engine.clone()))
            .debugging(Debugging::new(engine.clone()));
        let url = listen(server.router()).await;
        Self { url, key: key.reveal().to_owned(), upstream, engine }
    }
}

/// Serves a router, and says where.
pub(crate) async fn listen(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}
