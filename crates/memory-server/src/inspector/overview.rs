//! The overview: numbers of records, their growth, the queue, and the storage.

pub(super) mod growth;
mod stats;
pub(super) mod storage;

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use memory_engine::{Job, MemoryEngine, Scope, Stats, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use self::{stats::stats_of, storage::Storage};
use super::{accessible_scopes::AccessibleScopes, state::InspectorState};
use crate::{debug::reindex::indexed_records, fault::Fault};

/// Maximum number of failed jobs in an answer.
const MAX_FAILURES: usize = 50;

/// The numbers of an owner, or of all users of the key.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Overview {
    server: ServerFacts,
    totals: Totals,
    /// The indexes, with the numbers of records in them.
    indexes: Vec<IndexStatus>,
    /// Numbers of waiting jobs and of dead letters, by type of job.
    queue: Vec<JobCounts>,
    /// Jobs whose last attempt failed, at most 50: user by user, those queued longest first.
    failures: Vec<FailedJob>,
    /// Sizes of the files of a SQLite database. Missing for other databases, and for keys of some users.
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<Storage>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ServerFacts {
    version: &'static str,
    /// `sqlite` or `postgres`; missing if the store is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'static str>,
    /// The embedder: model, dimensions and metric.
    embedder: String,
    /// The time zone of the users: its IANA name, or its present offset.
    zone: String,
}

/// Numbers of records.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Totals {
    /// Records in all states.
    records: u64,
    /// Addresses (users with agents, conversations and branches) with at least one record.
    addresses: u64,
    /// Tombstones of deleted records.
    tombstones: u64,
    kinds: BTreeMap<String, u64>,
    states: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<String>,
}

/// The state of an index.
#[derive(Debug, Serialize, JsonSchema)]
struct IndexStatus {
    /// `keywords` or `embedding`.
    index: &'static str,
    /// Active records that belong in the index.
    records: u64,
    /// Records of them that wait for their entry.
    waiting: u64,
    /// Records of them whose job failed for good.
    dead_letters: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JobCounts {
    job: &'static str,
    waiting: u64,
    dead_letters: u64,
    /// The time at which the oldest waiting record was queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_since: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FailedJob {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    job: &'static str,
    attempts: u32,
    reason: String,
    /// Missing for a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
}

pub(super) async fn show_overview(
    State(state): State<InspectorState>,
    accessible: AccessibleScopes,
) -> Result<Json<Overview>, Fault> {
    let engine = &state.engine;
    let stats = stats_of(engine, &accessible.scopes).await?;
    let storage = if accessible.is_for_all_users { state.backend.storage().await } else { None };
    let server = ServerFacts {
        version: env!("CARGO_PKG_VERSION"),
        backend: state.backend.name(),
        embedder: engine.settings().embedder().space().to_string(),
        zone: zone_name(engine),
    };
    let indexed = indexed_records(&stats);
    let indexes = Job::INDEXING.map(|job| IndexStatus {
        index: job.as_str(),
        records: indexed,
        waiting: stats.queued.get(&job).copied().unwrap_or(0),
        dead_letters: stats.dead_letters.get(&job).copied().unwrap_or(0),
    });
    let failures = failures_of(engine, &accessible.scopes).await?;
    let (indexes, queue) = (indexes.into(), job_counts(&stats));
    Ok(Json(Overview { server, totals: Totals::from(stats), indexes, queue, failures, storage }))
}

fn zone_name(engine: &MemoryEngine) -> String {
    let zone = engine.settings().zone();
    let offset = || zone.to_offset(jiff::Timestamp::now()).to_string();
    zone.iana_name().map_or_else(offset, str::to_owned)
}

fn job_counts(stats: &Stats) -> Vec<JobCounts> {
    let count = |counts: &BTreeMap<Job, u64>, job| counts.get(&job).copied().unwrap_or(0);
    let jobs = Job::ALL.into_iter().map(|job| JobCounts {
        job: job.as_str(),
        waiting: count(&stats.queued, job),
        dead_letters: count(&stats.dead_letters, job),
        waiting_since: stats.waiting_since.get(&job).map(Timestamp::to_string),
    });
    jobs.filter(|job| job.waiting + job.dead_letters > 0).collect()
}

async fn failures_of(engine: &MemoryEngine, scopes: &[Scope]) -> Result<Vec<FailedJob>, Fault> {
    let mut failures = Vec::new();
    for scope in scopes {
        failures.extend(engine.admin().failures(scope, MAX_FAILURES - failures.len()).await?);
        if failures.len() == MAX_FAILURES {
            break;
        }
    }
    let failures = failures.into_iter().map(|failure| FailedJob {
        id: failure.id.to_string(),
        user_id: failure.scope.user_name().map(str::to_owned),
        job: failure.job.as_str(),
        attempts: failure.attempts,
        reason: failure.reason,
        retry_at: failure.retry_at.map(|time| time.to_string()),
    });
    Ok(failures.collect())
}

impl From<Stats> for Totals {
    fn from(stats: Stats) -> Self {
        Self {
            records: stats.records,
            addresses: stats.addresses,
            tombstones: stats.tombstones,
            kinds: stats.kinds,
            states: stats.states,
            oldest: stats.oldest.map(|time| time.to_string()),
            newest: stats.newest.map(|time| time.to_string()),
        }
    }
}
