//! Liveness and readiness of the server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, extract::State, http::StatusCode, routing::get};
use memory_engine::{MemoryEngine, RecordId, Result, Scope, embed::Purpose};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::{sync::Mutex, time::timeout};

use crate::openapi::{ApiOperation, Routes};

/// Time limit of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which the result of the embedder check is reused, since an embedding service may charge for every call.
const EMBEDDER_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Time for which the result of the queue check is reused: it counts all queued jobs, and callers need no key.
const QUEUE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Returns the routes `GET /health` (the process answers) and `GET /ready` (the database answers, otherwise 503). A
/// failing embedder is reported, but the server stays ready: new memories are still found by keywords. The responses
/// contain no user names.
pub(crate) fn routes(engine: MemoryEngine) -> Routes<()> {
    let probe = Probe { engine, embedder: Arc::default(), queue: Arc::default() };
    let health = ApiOperation::new("health", "Checks that the process answers.").without_key().answer::<Health>();
    let readiness = ApiOperation::new("ready", "Checks that the database answers.")
        .without_key()
        .answer::<Health>()
        .response::<Health>("503", "The database does not answer.", "application/json");
    Routes::new("health", "Liveness and readiness of the server.")
        .get("/health", async || Json(Health { status: "ok", ..Health::default() }), health)
        .route("get", "/ready", get(ready).with_state(probe), readiness)
}

/// The readiness checks of the server.
#[derive(Default, Serialize, JsonSchema)]
struct Health {
    /// `ok` or `unavailable`.
    status: &'static str,
    /// State of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'static str>,
    /// State of the job queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'static str>,
    /// State of the embedder. Keyword recall works without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedder: Option<&'static str>,
}

#[derive(Clone)]
struct Probe {
    engine: MemoryEngine,
    /// The last check of the embedder: its time, and true if it succeeded.
    embedder: Arc<Mutex<Option<(Instant, bool)>>>,
    /// The last check of the queue: its time, and true if no job has failed for good.
    queue: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Probe {
    /// Checks that the database answers, by reading a record with an unused id.
    async fn check_database(&self) -> Result<()> {
        let scope = Scope::tenant_wide(Scope::DEFAULT_TENANT)?.with_user("ready")?;
        self.engine.get(&scope, RecordId::from_bytes([0; 16])).await.map(|_| ())
    }

    /// Checks whether jobs of the default tenant have failed for good. Returns the state of the queue.
    async fn check_queue(&self) -> Result<&'static str> {
        let mut last_check = self.queue.lock().await;
        let is_healthy = match *last_check {
            Some((when, is_healthy)) if when.elapsed() < QUEUE_CHECK_INTERVAL => is_healthy,
            _ => {
                let stats = self.engine.stats(&Scope::tenant_wide(Scope::DEFAULT_TENANT)?).await?;
                *last_check = Some((Instant::now(), stats.dead_letters.is_empty()));
                stats.dead_letters.is_empty()
            }
        };
        Ok(if is_healthy { "ok" } else { "some jobs failed and are not retried; the log has the reasons" })
    }

    /// Checks the database and the queue. Returns the state of the queue.
    async fn check_database_and_queue(&self) -> Result<&'static str> {
        self.check_database().await?;
        self.check_queue().await
    }

    /// Checks the embedder. Returns its state.
    async fn check_embedder(&self) -> &'static str {
        // Concurrent callers wait for one check.
        let mut last_check = self.embedder.lock().await;
        let is_working = match *last_check {
            Some((when, is_working)) if when.elapsed() < EMBEDDER_CHECK_INTERVAL => is_working,
            _ => {
                let embedder = self.engine.settings().embedder();
                let reply = timeout(CHECK_TIMEOUT, embedder.embed(&["ready"], Purpose::Query)).await;
                let is_working = matches!(reply, Ok(Ok(_)));
                *last_check = Some((Instant::now(), is_working));
                is_working
            }
        };
        if is_working { "ok" } else { "failing; recall uses keywords only" }
    }
}

async fn ready(State(probe): State<Probe>) -> (StatusCode, Json<Health>) {
    match timeout(CHECK_TIMEOUT, probe.check_database_and_queue()).await {
        Ok(Ok(queue)) => {
            let embedder = probe.check_embedder().await;
            let health = Health { status: "ok", database: Some("ok"), queue: Some(queue), embedder: Some(embedder) };
            (StatusCode::OK, Json(health))
        }
        Ok(Err(e)) => {
            tracing::warn!(part = "ready", "{e}");
            unavailable("failing; see the log")
        }
        Err(_) => unavailable("no answer in time"),
    }
}

fn unavailable(database: &'static str) -> (StatusCode, Json<Health>) {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        Json(Health { status: "unavailable", database: Some(database), ..Health::default() }),
    )
}
