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

use crate::openapi::{Operation, Routes};

/// Time limit of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which the result of the embedder check is reused, since an embedding service may charge for every call.
const EMBEDDER_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// And about the queue: counting it goes through all that waits, and anybody may ask.
const COUNTED: Duration = Duration::from_secs(10);

/// `GET /health`: the process answers. `GET /ready`: so does its database; 503 when it does not. An embedder that
/// fails is told and makes nothing unready: what is stored meanwhile is found by its words. Neither says whose
/// memories there are.
pub(crate) fn routes(engine: MemoryEngine) -> Routes<()> {
    let probe = Probe { engine, embedder: Arc::default(), queue: Arc::default() };
    let live = Operation::new("health", "Checks that the process answers.").without_key().answer::<Health>();
    let check = Operation::new("ready", "Checks that the database answers.")
        .without_key()
        .answer::<Health>()
        .response::<Health>("503", "The database does not answer.", "application/json");
    Routes::new("health", "Liveness and readiness of the server.")
        .get("/health", async || Json(Health { status: "ok", ..Health::default() }), live)
        .route("get", "/ready", get(ready).with_state(probe), check)
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
    embedder: Arc<Mutex<Option<(Instant, bool)>>>,
    queue: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Probe {
    /// Checks that the database answers, by reading a record with an unused id.
    async fn database(&self) -> Result<()> {
        let nobody = Scope::tenant_wide(Scope::DEFAULT_TENANT)?.with_user("ready")?;
        self.engine.get(&nobody, RecordId::from_bytes([0; 16])).await.map(|_| ())
    }

    /// Checks the queue for jobs that were given up.
    async fn queue(&self) -> Result<&'static str> {
        let mut known = self.queue.lock().await;
        let is_fine = match *known {
            Some((when, is_fine)) if when.elapsed() < COUNTED => is_fine,
            _ => {
                let stats = self.engine.stats(&Scope::tenant_wide(Scope::DEFAULT_TENANT)?).await?;
                *known = Some((Instant::now(), stats.given_up.is_empty()));
                stats.given_up.is_empty()
            }
        };
        Ok(if is_fine { "ok" } else { "some work was given up; memory doctor tells" })
    }

    /// Both.
    async fn look(&self) -> Result<&'static str> {
        self.database().await?;
        self.queue().await
    }

    async fn embedder(&self) -> &'static str {
        // One asks at a time; the others wait for what it hears.
        let mut known = self.embedder.lock().await;
        let works = match *known {
            Some((when, works)) if when.elapsed() < EMBEDDER_CHECK_INTERVAL => works,
            _ => {
                let asked = timeout(CHECK_TIMEOUT, self.engine.embedder().embed(&["ready"], Purpose::Query)).await;
                let works = matches!(asked, Ok(Ok(_)));
                *known = Some((Instant::now(), works));
                works
            }
        };
        if works { "ok" } else { "failing; recall uses keywords only" }
    }
}

async fn ready(State(probe): State<Probe>) -> (StatusCode, Json<Health>) {
    match timeout(CHECK_TIMEOUT, probe.look()).await {
        Ok(Ok(queue)) => {
            let embedder = probe.embedder().await;
            let health = Health { status: "ok", database: Some("ok"), queue: Some(queue), embedder: Some(embedder) };
            (StatusCode::OK, Json(health))
        }
        Ok(Err(e)) => {
            tracing::warn!(part = "ready", "{e}");
            unready("failing; the log tells why")
        }
        Err(_) => unready("it does not answer in time"),
    }
}

fn unready(database: &'static str) -> (StatusCode, Json<Health>) {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        Json(Health { status: "unavailable", database: Some(database), ..Health::default() }),
    )
}
