//! All of it on one port.

use axum::Router;
use memory_engine::MemoryEngine;

use crate::{
    Debugging, Gateway, Guard, Mcp, Mem0,
    guard::Wording,
    health,
    openapi::{self, Part},
};

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
    /// A server of this memory, with `/health`, `/ready`, `/openapi.json` and nothing else.
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

    /// The routes, ready to be served or nested. `/health`, `/ready` and `/openapi.json` ask for no key.
    pub fn router(self) -> Router {
        let Self { engine, guard, gateway, mem0, mcp, debugging } = self;
        let documented = [
            Some(Part::HEALTH),
            gateway.as_ref().map(|_| Part::GATEWAY),
            mem0.as_ref().map(|_| Part::MEM0),
            mcp.as_ref().map(|_| Part::MCP),
            debugging.as_ref().map(|_| Part::DEBUGGING),
        ];
        let documented: Vec<Part> = documented.into_iter().flatten().collect();
        let mut router = health::router(engine).merge(openapi::router(&documented));
        if let Some(gateway) = gateway {
            router = router.merge(guard.protect(gateway.router(), Wording::OpenAi));
        }
        let parts = [mem0.map(Mem0::router), mcp.map(Mcp::router), debugging.map(Debugging::router)];
        parts.into_iter().flatten().fold(router, |router, part| router.merge(guard.protect(part, Wording::Mem0)))
    }
}
