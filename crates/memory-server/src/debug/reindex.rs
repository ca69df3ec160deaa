//! Having a session indexed anew.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use memory_engine::{Job, MemoryEngine, RecordId, Scope};
use serde::Serialize;

use super::session::{NothingMore, Session};
use crate::fault::Fault;

/// How far a session's indexes are.
///
/// It is read off the queue, which is durable and common to all processes: a restart loses nothing of it, and whoever asks is
/// told the same.
#[derive(Serialize)]
pub(super) struct Progress {
    /// The same for every request about this session.
    id: RecordId,
    status: Status,
    /// How many jobs there are: each record waits for its words and for its vector.
    total: u64,
    /// How many of them are done.
    done: u64,
    /// How many still wait.
    waiting: u64,
    /// How many were given up after failing too often; a new request has them tried again.
    given_up: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Running,
    Done,
    /// Nothing waits any more, but something could not be done.
    Incomplete,
}

/// Queues every record of the session for its indexes. Twice is as good as once: a record has one place in each queue.
pub(super) async fn begin(
    State(engine): State<MemoryEngine>,
    session: Session<NothingMore>,
) -> Result<(StatusCode, Json<Progress>), Fault> {
    engine.reindex(&session.scope).await?;
    Ok((StatusCode::ACCEPTED, Json(of(&engine, &session.scope).await?)))
}

/// How far it is.
pub(super) async fn progress(
    State(engine): State<MemoryEngine>,
    Path((_, id)): Path<(String, String)>,
    session: Session<NothingMore>,
) -> Result<Json<Progress>, Fault> {
    if id != id_of(&session.scope).to_string() {
        let message = "this session has no reindex of that id; the answer to POST …/reindex names it";
        return Err(Fault::not_found(message));
    }
    Ok(Json(of(&engine, &session.scope).await?))
}

async fn of(engine: &MemoryEngine, scope: &Scope) -> Result<Progress, Fault> {
    let stats = engine.stats(scope).await?;
    let count = |jobs: &std::collections::BTreeMap<Job, u64>| -> u64 {
        Job::INDEXING.iter().filter_map(|job| jobs.get(job)).sum()
    };
    let (waiting, given_up) = (count(&stats.backlog), count(&stats.given_up));
    let active = stats.states.get("active").copied().unwrap_or(0);
    let ledgers = stats.kinds.iter().filter(|(kind, _)| memory_engine::Kind::new(kind.as_str()).is_ledger());
    let indexed = active.saturating_sub(ledgers.map(|(_, count)| count).sum());
    let total = (indexed * Job::INDEXING.len() as u64).max(waiting + given_up);
    let status = match (waiting, given_up) {
        (0, 0) => Status::Done,
        (0, _) => Status::Incomplete,
        _ => Status::Running,
    };
    Ok(Progress { id: id_of(scope), status, total, done: total - waiting - given_up, waiting, given_up })
}

fn id_of(scope: &Scope) -> RecordId {
    RecordId::named(scope, "reindex")
}
