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
    sessions::SessionCache,
    state::GatewayState,
    turn_writer::TurnWriter,
    upstream::{Upstream, Upstreams},
};
use crate::{
    openapi::Section,
    part::{Background, Part},
    server::Server,
};

/// The chat gateway: between any OpenAI-compatible client and the services that have the models.
///
/// A request is passed on byte by byte; only a block of memories is added to its first system message, when the rules
/// of [`GatewayOptions::rules`] call for one. The reply is passed back as it arrives, and the turn is stored before
/// the end of the reply is sent. A failure of the memory never fails a chat: the header `X-Memory-Degraded` names the
/// part that failed. Cloning gives another handle on the same gateway.
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
    /// A gateway to these services, over this memory. The first service that names no models takes those that no other
    /// names.
    ///
    /// # Errors
    /// `InvalidInput` without an upstream, for two of one name, and for rules that are none; `Unavailable` when TLS
    /// cannot be set up; `Unsupported` outside a tokio runtime, on which what was said is stored.
    pub fn new(engine: MemoryEngine, upstreams: Vec<Upstream>, options: GatewayOptions) -> Result<Self> {
        let outside = |_| Error::new(ErrorKind::Unsupported, "gateway", "call it within a tokio runtime");
        let runtime = Handle::try_current().map_err(outside)?;
        let upstreams = Upstreams::open(upstreams)?;
        let sessions = Arc::new(SessionCache::new(options.max_sessions));
        let prompter = Prompter::new(engine.clone(), Arc::clone(&sessions), &options)?;
        let turns = TurnWriter::start(engine, sessions, &options, &runtime);
        let options = Arc::new(options);
        Ok(Self(Arc::new(GatewayState { upstreams, prompter, turns, options, tasks: TaskTracker::new() })))
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        self.routes().0
    }

    fn routes(&self) -> (Router, Section) {
        let mut router = Router::new();
        let mut section = None;
        for owner in OWNERS {
            let (routes, described) = api::routes(owner).finish();
            router = router.merge(routes);
            // The document shows the paths without an owner.
            section.get_or_insert(described);
        }
        let section = section.unwrap_or_else(|| Section::new(api::TAG, api::DESCRIPTION));
        (router.with_state(Arc::clone(&self.0)), section)
    }

    pub(crate) fn part(self) -> Part {
        let (router, section) = self.routes();
        let (sections, errors) = (vec![section], openai::error_response);
        Part { name: "gateway", router, sections, errors, background: Some(Box::new(self)) }
    }

    /// Waits until every running response has been passed on, and all turns are stored or given up. Call it at
    /// shutdown, after the server has stopped taking requests. It waits for long streams too; dropping the future
    /// ends the wait, and turns stored by then stay stored.
    pub async fn drain(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
        self.flush().await;
    }

    /// Waits until all turns whose replies have ended are stored or given up.
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
    /// With the chat gateway under `/v1`.
    pub fn gateway(self, gateway: Gateway) -> Self {
        self.with_part(gateway.part())
    }
}
