//! Whether the server lives, and whether it is ready for work.

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use memory_engine::{MemoryEngine, ScanQuery, Scope};
use serde_json::{Value, json};

/// `GET /health`: the process answers. `GET /ready`: its database answers, too; 503 when it does not.
pub(crate) fn router(engine: MemoryEngine) -> Router {
    Router::new().route("/health", get(live)).route("/ready", get(ready)).with_state(engine)
}

async fn live() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

async fn ready(State(engine): State<MemoryEngine>) -> (StatusCode, Json<Value>) {
    let asked = async { engine.scan(&Scope::tenant_wide(Scope::DEFAULT_TENANT)?, &ScanQuery::newest(1)).await };
    match asked.await {
        Ok(_) => (StatusCode::OK, Json(json!({ "status": "ok", "database": "ok" }))),
        Err(e) => {
            let body = json!({ "status": "unavailable", "database": e.to_string() });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}
