//! The OpenAI-compatible chat gateway: memories go into the prompt, and what was said into the memory.

mod body;
mod chat;
mod course;
mod frames;
mod heard;
mod keeper;
mod models;
mod options;
mod prompt;
mod sessions;
mod thread;
mod turn;
mod upstream;
mod who;

use std::sync::Arc;

use axum::{
    Router,
    routing::{any, get, post},
};
use memory_engine::{Error, ErrorKind, MemoryEngine, Result};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use keeper::Keeper;
pub use options::GatewayOptions;
use prompt::Prompter;
use sessions::Sessions;
pub use upstream::Upstream;
use upstream::Upstreams;

/// The chat gateway: between any OpenAI-compatible client and the services that have the models.
///
/// A request is passed on byte by byte; only a block of memories is put behind its first system message, when the rules of
/// [`GatewayOptions::rules`] call for one. The answer comes back as it comes, and what was said is stored before the answer's
/// end is told. Nothing that happens to the memory ever keeps an answer away: the header `X-Memory-Degraded` names what did
/// not work. Cloning gives another handle on the same gateway.
#[derive(Debug, Clone)]
#[must_use]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    upstreams: Upstreams,
    prompter: Prompter,
    keeper: Keeper,
    options: Arc<GatewayOptions>,
    tasks: TaskTracker,
}

/// Who and which session may stand before `/v1` in the path, for clients that can set nothing but a base URL.
const OWNERS: [&str; 6] = [
    "",
    "/s/{session}",
    "/u/{user}",
    "/u/{user}/s/{session}",
    "/u/{user}/a/{agent}",
    "/u/{user}/a/{agent}/s/{session}",
];

impl Gateway {
    /// A gateway to these services, over this memory. The first service that names no models takes those that no other names.
    ///
    /// # Errors
    /// `InvalidInput` without an upstream, for two of one name, and for rules that are none; `Unavailable` when TLS cannot be set
    /// up; `Unsupported` outside a tokio runtime, on which what was said is stored.
    pub fn new(engine: MemoryEngine, upstreams: Vec<Upstream>, options: GatewayOptions) -> Result<Self> {
        let outside = |_| Error::new(ErrorKind::Unsupported, "gateway", "call it within a tokio runtime");
        let runtime = Handle::try_current().map_err(outside)?;
        let upstreams = Upstreams::open(upstreams)?;
        let sessions = Arc::new(Sessions::new(options.max_sessions));
        let prompter = Prompter::new(engine.clone(), Arc::clone(&sessions), &options)?;
        let keeper = Keeper::start(engine, sessions, &options, &runtime);
        let (options, tasks) = (Arc::new(options), TaskTracker::new());
        Ok(Self(Arc::new(Inner { upstreams, prompter, keeper, options, tasks })))
    }

    /// Its routes. They want an [`Access`](crate::Access) with each request, which a [`Guard`](crate::Guard) gives.
    pub fn router(self) -> Router {
        let mut router = Router::new();
        for owner in OWNERS {
            let path = |rest: &str| format!("{owner}/v1/{rest}");
            router = router
                .route(&path("chat/completions"), post(chat::chat).fallback(models::unknown))
                .route(&path("models"), get(models::models).fallback(models::unknown))
                .route(&path("models/{*model}"), get(models::model).fallback(models::unknown))
                .route(&path("embeddings"), post(models::embeddings).fallback(models::unknown))
                .route(&path("{*rest}"), any(models::unknown));
        }
        router.with_state(self.0)
    }

    /// Waits until every answer that is under way has been passed on, and all that was said is stored or given up: at shutdown, once
    /// the server takes no more requests. A stream that goes on for long is waited for as long; whoever cannot, drops the future,
    /// and what is stored by then is stored.
    pub async fn drain(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
        self.keep_all().await;
    }

    /// Waits until all that was said in answers that have ended is stored or given up.
    pub(crate) async fn keep_all(&self) {
        self.0.keeper.drain().await;
    }
}
