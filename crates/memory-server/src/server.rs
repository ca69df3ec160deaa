//! All of it on one port.

use axum::Router;
use memory_engine::MemoryEngine;

use crate::{Debugging, Gateway, Guard, Mcp, Mem0, guard::Wording, health};

/// The routers that a program serves, behind one guard.
#[derive(Debug)]
#[must_use]
pub struct Server {
    engine: MemoryEngine,
    guard: Guard,
    gateway: Option<Gateway>,
    mem0: Option<Mem0>,
    mcp: Option<Mcp>,
    debugging: Option<Debugging>,
}

impl Server {
    /// A server of this memory, with `/health` and `/ready` and nothing else.
    pub fn new(engine: MemoryEngine, guard: Guard) -> Self {
        Self { engine, guard, gateway: None, mem0: None, mcp: None, debugging: None }
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

    /// The routes, ready to be served or nested. `/health` and `/ready` ask for no key.
    pub fn router(self) -> Router {
        let Self { engine, guard, gateway, mem0, mcp, debugging } = self;
        let mut router = health::router(engine);
        if let Some(gateway) = gateway {
            router = router.merge(guard.protect(gateway.router(), Wording::OpenAi));
        }
        let parts = [mem0.map(Mem0::router), mcp.map(Mcp::router), debugging.map(Debugging::router)];
        parts.into_iter().flatten().fold(router, |router, part| router.merge(guard.protect(part, Wording::Mem0)))
    }
}
