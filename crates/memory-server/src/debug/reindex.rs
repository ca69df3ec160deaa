//! Rebuilds the indexes of a session.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use memory_engine::{Job, Kind, MemoryEngine, RecordId, Scope, State as RecordState, Stats};
use schemars::JsonSchema;
use serde::Serialize;

use super::session::Session;
use crate::fault::Fault;

/// Progress of indexing a session. It is read from the durable job queue, so all processes report the same, also after
/// a restart.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Progress")]
pub(super) struct ReindexProgress {
    /// The id of the reindex. Every request about this session returns the same id.
    #[schemars(with = "String")]
    id: RecordId,
    status: Status,
    /// The number of jobs: two for each record, for its terms and its vector.
    total: u64,
    /// The number of finished jobs.
    done: u64,
    /// The number of queued jobs.
    waiting: u64,
    /// The number of dead-lettered jobs. A new request retries them.
    dead_letters: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Running,
    Done,
    /// No job is queued, but some have failed.
    Incomplete,
}

/// Queues all records of the session for indexing. A repeated request has no further effect, because a
/// record is queued at most once for each job.
pub(super) async fn start(
    State(engine): State<MemoryEngine>,
    session: Session,
) -> Result<(StatusCode, Json<ReindexProgress>), Fault> {
    engine.admin().reindex(&session.scope).await?;
    Ok((StatusCode::ACCEPTED, Json(progress_of(&engine, &session.scope).await?)))
}

/// Reports the progress of indexing.
pub(super) async fn progress(
    State(engine): State<MemoryEngine>,
    Path((_, id)): Path<(String, String)>,
    session: Session,
) -> Result<Json<ReindexProgress>, Fault> {
    if id != reindex_id(&session.scope).to_string() {
        let message = "this session has no reindex with this id; the response to POST …/reindex contains the id";
        return Err(Fault::not_found(message));
    }
    Ok(Json(progress_of(&engine, &session.scope).await?))
}

async fn progress_of(engine: &MemoryEngine, scope: &Scope) -> Result<ReindexProgress, Fault> {
    let stats = engine.stats(scope).await?;
    let waiting = count_indexing_jobs(&stats.queued);
    let dead_letters = count_indexing_jobs(&stats.dead_letters);
    let total = (indexed_records(&stats) * Job::INDEXING.len() as u64).max(waiting + dead_letters);
    let status = match (waiting, dead_letters) {
        (0, 0) => Status::Done,
        (0, _) => Status::Incomplete,
        _ => Status::Running,
    };
    Ok(ReindexProgress {
        id: reindex_id(scope),
        status,
        total,
        done: total - waiting - dead_letters,
        waiting,
        dead_letters,
    })
}

/// Returns the number of records that belong in the indexes: active ones that are not entries of a ledger. Entries of
/// ledgers are always active.
pub(crate) fn indexed_records(stats: &Stats) -> u64 {
    let active = stats.states.get(RecordState::Active.as_str()).copied().unwrap_or(0);
    let ledgers = stats.kinds.iter().filter(|(kind, _)| Kind::new(kind.as_str()).is_ledger());
    active.saturating_sub(ledgers.map(|(_, records)| records).sum())
}

fn count_indexing_jobs(jobs: &BTreeMap<Job, u64>) -> u64 {
    Job::INDEXING.iter().filter_map(|job| jobs.get(job)).sum()
}

fn reindex_id(scope: &Scope) -> RecordId {
    RecordId::named(scope, "reindex")
}
