//! The stores under test.

use std::{any::Any, fmt, sync::Arc};

use memory_engine_core::{EmbeddingSpace, JobQueue, ManualClock, RecordStore, Timestamp};
use memory_engine_graph::GraphStore;
use memory_engine_keyword_store::KeywordStore;
use memory_engine_synonyms::SynonymStore;
use memory_engine_vector_store::VectorStore;

/// The empty stores of one backend, and the clock that they read. Every scenario gets its own world.
#[derive(Debug)]
pub struct World {
    /// The record store.
    pub records: Arc<dyn RecordStore>,
    /// The job queue of the record store.
    pub jobs: Arc<dyn JobQueue>,
    /// The keyword store.
    pub keywords: Arc<dyn KeywordStore>,
    /// The vector store; its space is [`space`].
    pub vectors: Arc<dyn VectorStore>,
    /// The synonym store, if the backend has one. Without it the scenarios that need one are ignored.
    pub synonyms: Option<Arc<dyn SynonymStore>>,
    /// The graph store, if the backend has one. Without it the scenarios that need one are ignored.
    pub graph: Option<Arc<dyn GraphStore>>,
    /// The clock that the record store was opened with.
    pub clock: Arc<ManualClock>,
    /// True if all stores share one database, so that the contracts of such a backend are tested.
    pub one_database: bool,
    guard: Option<Box<dyn Any + Send + Sync>>,
}

impl World {
    /// A world of separate stores. `records` is the record store and its job queue.
    pub fn new<R: RecordStore + JobQueue>(
        records: Arc<R>,
        keywords: Arc<dyn KeywordStore>,
        vectors: Arc<dyn VectorStore>,
        clock: Arc<ManualClock>,
    ) -> Self {
        let jobs = Arc::clone(&records);
        Self { records, jobs, keywords, vectors, synonyms: None, graph: None, clock, one_database: false, guard: None }
    }

    /// Declares that all stores share a database, and write and delete related entries in one transaction.
    #[must_use]
    pub fn in_one_database(mut self) -> Self {
        self.one_database = true;
        self
    }

    /// Adds the synonym store.
    #[must_use]
    pub fn with_synonyms(mut self, synonyms: Arc<dyn SynonymStore>) -> Self {
        self.synonyms = Some(synonyms);
        self
    }

    /// Adds the graph store.
    #[must_use]
    pub fn with_graph(mut self, graph: Arc<dyn GraphStore>) -> Self {
        self.graph = Some(graph);
        self
    }

    /// Returns true if the backend has what a scenario needs.
    pub fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Synonyms => self.synonyms.is_some(),
            Capability::Graph => self.graph.is_some(),
            Capability::OneDatabase => self.one_database,
            Capability::VectorVersions => self.vectors.embedding_versions().is_some(),
            Capability::AuditLog => self.records.audit_log().is_some(),
        }
    }

    /// Keeps a value alive as long as the world, such as the temporary directory of its database file.
    #[must_use]
    pub fn guarded_by(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// Returns the same stores in boxes, which must behave like the stores themselves.
    #[must_use]
    pub fn boxed(&self) -> Self {
        let records: Box<dyn RecordStore> = Box::new(Arc::clone(&self.records));
        let jobs: Box<dyn JobQueue> = Box::new(Arc::clone(&self.jobs));
        let keywords: Box<dyn KeywordStore> = Box::new(Arc::clone(&self.keywords));
        let vectors: Box<dyn VectorStore> = Box::new(Arc::clone(&self.vectors));
        let synonyms = self.synonyms.as_ref().map(|synonyms| {
            let synonyms: Box<dyn SynonymStore> = Box::new(Arc::clone(synonyms));
            Arc::new(synonyms) as Arc<dyn SynonymStore>
        });
        let graph = self.graph.as_ref().map(|graph| {
            let graph: Box<dyn GraphStore> = Box::new(Arc::clone(graph));
            Arc::new(graph) as Arc<dyn GraphStore>
        });
        Self {
            records: Arc::new(records),
            jobs: Arc::new(jobs),
            keywords: Arc::new(keywords),
            vectors: Arc::new(vectors),
            synonyms,
            graph,
            clock: Arc::clone(&self.clock),
            one_database: self.one_database,
            guard: None,
        }
    }
}

/// An optional capability of a backend. Without it, the scenarios that need it are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// A synonym store.
    Synonyms,
    /// A graph store.
    Graph,
    /// All stores in one database: see [`World::in_one_database`].
    OneDatabase,
    /// A second version of the vectors: `VectorStore::embedding_versions`.
    VectorVersions,
    /// An audit log: `RecordStore::audit_log`.
    AuditLog,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synonyms => "a synonym store",
            Self::Graph => "a graph store",
            Self::OneDatabase => "all stores in one database",
            Self::VectorVersions => "a vector store with a second version",
            Self::AuditLog => "an audit log",
        })
    }
}

/// The space of every world's vectors.
pub fn space() -> EmbeddingSpace {
    EmbeddingSpace::cosine("conformance", 8)
}

/// The clock of a world. It stands still in February 2026 until a scenario advances it.
pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_micros(1_772_000_000_123_456)))
}

/// The reason why a world cannot be created, such as a missing server.
#[derive(Debug, Clone)]
pub struct Skip {
    /// The name of the backend, as in the variable `CONFORMANCE_REQUIRE`.
    pub backend: String,
    /// The missing part.
    pub reason: String,
}

impl Skip {
    /// Skips a backend for a reason.
    pub fn new(backend: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { backend: backend.into(), reason: reason.into() }
    }
}

/// The result of a function that creates a world.
pub trait IntoWorld {
    /// Returns the world.
    ///
    /// # Errors
    /// Returns the reason if there is no world.
    fn into_world(self) -> Result<World, Skip>;
}

impl IntoWorld for World {
    fn into_world(self) -> Result<World, Skip> {
        Ok(self)
    }
}

impl IntoWorld for Result<World, Skip> {
    fn into_world(self) -> Result<World, Skip> {
        self
    }
}

/// Returns the reason why a backend is skipped.
///
/// # Errors
/// Returns the reason as an error if `required`, a comma-separated list, names the backend.
pub(crate) fn require(skip: Skip, required: &str) -> Result<String, String> {
    let Skip { backend, reason } = skip;
    if required.split(',').any(|name| name.trim() == backend) {
        return Err(format!("CONFORMANCE_REQUIRE names {backend}, which cannot be tested: {reason}"));
    }
    Ok(format!("{backend}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_backend_fails_if_it_is_required() {
        let skip = || Err::<World, _>(Skip::new("no-such-backend", "there is no server")).into_world().unwrap_err();
        assert_eq!(require(skip(), "sqlite").unwrap(), "no-such-backend: there is no server");
        assert!(require(skip(), "sqlite, no-such-backend").unwrap_err().contains("there is no server"));
    }
}
