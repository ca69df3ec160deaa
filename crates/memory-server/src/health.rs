//! Whether the server lives, and whether it is ready for work.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use memory_engine::{MemoryEngine, Purpose, RecordId, Result, Scope};
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::timeout};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long what was found out about the embedder holds: it may be a service that wants money for every question.
const FRESH: Duration = Duration::from_secs(60);
/// And about the queue: counting it goes through all that waits, and anybody may ask.
const COUNTED: Duration = Duration::from_secs(10);

/// `GET /health`: the process answers. `GET /ready`: so does its database; 503 when it does not. An embedder that fails is
/// told and makes nothing unready: what is stored meanwhile is found by its words. Neither says whose memories there are.
pub(crate) fn router(engine: MemoryEngine) -> Router {
    let probe = Probe { engine, embedder: Arc::default(), queue: Arc::default() };
    Router::new().route("/health", get(live)).route("/ready", get(ready)).with_state(probe)
}

#[derive(Clone)]
struct Probe {
    engine: MemoryEngine,
    embedder: Arc<Mutex<Option<(Instant, bool)>>>,
    queue: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Probe {
    /// Whether the database answers: it is asked for a record by an id that nobody has.
    async fn database(&self) -> Result<()> {
        let nobody = Scope::tenant_wide(Scope::DEFAULT_TENANT)?.with_user("ready")?;
        self.engine.get(&nobody, RecordId::from_bytes([0; 16])).await.map(|_| ())
    }

    /// What the database says: whether the background has given anything up.
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
            Some((when, works)) if when.elapsed() < FRESH => works,
            _ => {
                let asked = timeout(PATIENCE, self.engine.embedder().embed(&["ready"], Purpose::Query)).await;
                let works = matches!(asked, Ok(Ok(_)));
                *known = Some((Instant::now(), works));
                works
            }
        };
        if works { "ok" } else { "failing; recall goes by words" }
    }
}

async fn live() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

async fn ready(State(probe): State<Probe>) -> (StatusCode, Json<Value>) {
    match timeout(PATIENCE, probe.look()).await {
        Ok(Ok(queue)) => {
            let embedder = probe.embedder().await;
            (StatusCode::OK, Json(json!({ "status": "ok", "database": "ok", "queue": queue, "embedder": embedder })))
        }
        Ok(Err(e)) => {
            tracing::warn!(part = "ready", "{e}");
            unready("failing; the log tells why")
        }
        Err(_) => unready("it does not answer in time"),
    }
}

fn unready(database: &str) -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "unavailable", "database": database })))
}
