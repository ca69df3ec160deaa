//! The public handle of the chat gateway.

use std::sync::Arc;

use axum::Router;
use futures::future::BoxFuture;
use memory_engine::{Error, ErrorKind, MemoryEngine, Result};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{
    api, openai,
    options::GatewayOptions,
    prompter::Prompter,
    state::GatewayState,
    turn_writer::TurnWriter,
    upstream::{Upstream, Upstreams},
};
use crate::{
    openapi::Section,
    part::{Background, ServerPart},
    server::Server,
};

/// The chat gateway, between OpenAI-compatible clients and model services.
///
/// A request is passed on byte by byte; only a block of memories is added, when the rules of [`GatewayOptions::rules`]
/// require one, at the place that [`GatewayOptions::placement`] names. The reply is passed back as it arrives, and the
/// turn is stored before the end of the reply is sent. A failure of the memory never fails a chat: the header
/// `X-Memory-Degraded` names the part that failed. Cloning gives another handle on the same gateway.
#[derive(Debug, Clone)]
#[must_use]
pub struct Gateway(Arc<GatewayState>);

/// The prefixes of `/v1` that name the owner, for clients that can set only a base URL.
const OWNERS: [&str; 6] = [
    "",
    "/s/{session}",
    "/u/{user}",
    "/u/{user}/s/{session}",
    "/u/{user}/a/{agent}",
    "/u/{user}/a/{agent}/s/{session}",
];

impl Gateway {
    /// Creates a gateway to these upstreams, with the memories of this engine. The first upstream without a list of
    /// models serves those that no other one serves.
    ///
    /// # Errors
    /// `InvalidInput` without an upstream, for upstreams or models with invalid names, and for invalid rules;
    /// `Unavailable` when TLS cannot be set up; `Unsupported` outside a tokio runtime, on which the turns are stored.
    pub fn new(engine: MemoryEngine, upstreams: Vec<Upstream>, options: GatewayOptions) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|_| {
            Error::new(ErrorKind::Unsupported, "gateway", "no tokio runtime is running; create the gateway within one")
        })?;
        let upstreams = Upstreams::new(upstreams)?;
        let prompter = Prompter::new(engine.clone(), &options)?;
        let turns = TurnWriter::start(engine.clone(), &options, &runtime);
        let options = Arc::new(options);
        Ok(Self(Arc::new(GatewayState { upstreams, prompter, turns, engine, options, tasks: TaskTracker::new() })))
    }

    fn routes(&self) -> (Router, Section) {
        let mut router = Router::new();
        let mut section = None;
        for owner in OWNERS {
            let (routes, description) = api::routes(owner).finish();
            router = router.merge(routes);
            // The document shows the paths without an owner.
            section.get_or_insert(description);
        }
        let section = section.unwrap_or_else(|| Section::new(api::TAG, api::DESCRIPTION));
        (router.with_state(Arc::clone(&self.0)), section)
    }

    pub(crate) fn part(self) -> ServerPart {
        let (router, section) = self.routes();
        ServerPart {
            name: "gateway",
            router,
            sections: vec![section],
            errors: openai::error_response,
            background: Some(Box::new(self)),
        }
    }

    /// Waits until every running response has been passed on, and all turns are stored or dropped. Call it at
    /// shutdown, after the server has stopped taking requests. It waits for long streams too; dropping the future
    /// ends the wait, and turns stored by then stay stored.
    pub async fn drain(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
        self.flush().await;
    }

    /// Waits until all turns whose replies have ended are stored or dropped.
    async fn flush(&self) {
        self.0.turns.drain().await;
    }
}

impl Background for Gateway {
    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(Gateway::drain(self))
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(Gateway::flush(self))
    }
}

impl Server {
    /// Adds the chat gateway under `/v1`.
    pub fn gateway(self, gateway: Gateway) -> Self {
        self.with_part(gateway.part())
    }
}
