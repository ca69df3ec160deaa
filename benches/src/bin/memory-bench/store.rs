//! The engine, and an embedder that knows the vectors of its texts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use async_trait::async_trait;
use memory_engine::{
    Database, Embedder, Embedding, EmbeddingSpace, Error, ErrorKind, Kind, MemoryEngine, Purpose, Record, Scope,
    SystemClock, Timestamp,
};

use crate::{Arguments, Backend, data::Row};

/// Opens the engine with its defaults.
pub(crate) async fn open(arguments: &Arguments, embedder: &Arc<GivenEmbedder>) -> Result<MemoryEngine> {
    let database = match arguments.backend {
        Backend::Sqlite => Database::file(&arguments.store),
        Backend::Postgres => {
            Database::postgres(arguments.dsn.clone().context("Postgres needs --dsn postgres://USER@HOST/DATABASE")?)
        }
    };
    Ok(MemoryEngine::builder().database(database).embedder(Arc::clone(embedder) as _).build().await?)
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

/// Gives the vectors of the texts that it was told.
#[derive(Debug)]
pub(crate) struct GivenEmbedder {
    space: EmbeddingSpace,
    known: Mutex<BTreeMap<String, Embedding>>,
}

impl GivenEmbedder {
    pub(crate) fn new(dimensions: usize) -> Arc<Self> {
        Arc::new(Self { space: EmbeddingSpace::cosine("given", dimensions), known: Mutex::default() })
    }

    pub(crate) fn learn(&self, text: &str, vector: Vec<f32>) -> Result<()> {
        let embedding = Embedding::new(vector)?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), embedding);
        Ok(())
    }
}

#[async_trait]
impl Embedder for GivenEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        1000
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    /// None is left out for being far: the others leave out none, either.
    fn score_floor(&self) -> f64 {
        -2.0
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> memory_engine::Result<Vec<Embedding>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::new(ErrorKind::NotFound, "embed", "a text that has no vector in the data");
        texts.iter().map(|text| known.get(*text).cloned().ok_or_else(unknown)).collect()
    }
}
