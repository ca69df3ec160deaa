//! The engine, and what it is given.

use std::sync::Arc;

use anyhow::{Context, Result};
use memory_engine::{Database, Kind, MemoryEngine, Record, Scope, SystemClock, Timestamp};
use memory_engine_benches::given::GivenEmbedder;

use crate::{Arguments, Backend, data::Row};

/// Opens the engine with its defaults.
pub(crate) async fn open(arguments: &Arguments, embedder: &Arc<GivenEmbedder>) -> Result<MemoryEngine> {
    let database = match arguments.backend {
        Backend::Sqlite => Database::file(&arguments.store),
        Backend::Postgres => {
            Database::postgres(arguments.dsn.clone().context("Postgres needs --dsn postgres://USER@HOST/DATABASE")?)
        }
    };
    Ok(MemoryEngine::builder().database(database).embedder(Arc::clone(embedder)).build().await?)
}

/// Everything: an organisation is a tenant's agent here, so that asking for one is a condition that all records meet.
pub(crate) fn everything() -> Result<Scope> {
    Ok(Scope::tenant_wide(Scope::DEFAULT_TENANT)?)
}

/// The record of a row: who it belongs to is its address, its number in the file its message id.
pub(crate) fn record(row: Row) -> Result<Record> {
    let scope = Scope::user(row.scope)?.with_agent(row.org)?;
    let mut record = Record::new(scope, Kind::new(row.kind), row.text, &SystemClock);
    record.occurred_at = seconds(row.ts);
    record.source.message_id = Some(row.id.to_string());
    Ok(record)
}

pub(crate) fn seconds(since_1970: i64) -> Timestamp {
    Timestamp::from_micros(since_1970 * 1_000_000)
}
