//! Putting an engine together.

use std::{path::PathBuf, sync::Arc};

use memory_engine_core::{Clock, Error, ErrorKind, JobQueue, MemoryRecordStore, RecordStore, Result, SystemClock};
use memory_engine_embedder::{CachedEmbedder, Embedder, HashEmbedder};
use memory_engine_graph::{GraphExtractor, GraphStore, MemoryGraphStore};
use memory_engine_keyword_store::{Analyzer, KeywordStore, MemoryKeywordStore, TextAnalyzer};
use memory_engine_reranker::Reranker;
use memory_engine_scene::ScenePolicy;
use memory_engine_sql::options::Mismatch;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use memory_engine_sql::options::StoreOptions;
use memory_engine_synonyms::{MemorySynonymStore, SharedThesaurus, SynonymStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorStore};

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::dates::index_fingerprint;
use crate::{
    Database, Digest, MemoryEngine, RecallOptions,
    database::{Address, Place},
    engine::{Parts, Stores},
    entity_graph::GraphParts,
    spaces::{Space, Spaces},
};

/// From which weight on an embedder is so dear that its vectors are worth keeping.
const WORTH_KEEPING: f64 = 0.1;

/// Puts a [`MemoryEngine`] together. Without a word about stores it keeps everything in memory.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{
///     Digest, HashEmbedder, LexicalReranker, ManualClock, MemoryEngine, Mismatch, RecallOptions, RuleExtractor,
///     ScenePolicy, Scope,
/// };
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00+08:00".parse()?));
/// let memory = MemoryEngine::builder()
///     .in_memory() // or .sqlite("memory.db"), or .postgres("postgres://…")
///     .embedder(Arc::new(HashEmbedder::default()))
///     .reranker(Arc::new(LexicalReranker::default()))
///     .digest(Digest::by_rules()?)
///     .graph(Arc::new(RuleExtractor::default()))
///     .scene_policy(ScenePolicy::default())
///     .recall_options(RecallOptions::default().with_limit(5))
///     .on_mismatch(Mismatch::Refuse)
///     .clock(clock.clone())
///     .background(false) // `drain` does what waits
///     .build()
///     .await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "I live in Porto.").await?;
/// memory.drain(&lin, |progress| println!("{} of {}", progress.done, progress.total)).await?;
/// assert_eq!(memory.facts(&lin).await?[0].text, "The user lives in Porto.");
/// println!("vectors came after {:?}", memory.lag()[&memory_engine::Job::Embedding].p95);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use]
pub struct Builder {
    backend: Backend,
    embedder: Arc<dyn Embedder>,
    replaced: Option<Arc<dyn Embedder>>,
    reranker: Option<Arc<dyn Reranker>>,
    analyzer: Arc<dyn Analyzer>,
    clock: Arc<dyn Clock>,
    options: RecallOptions,
    scene_policy: ScenePolicy,
    synonyms: Option<Arc<dyn SynonymStore>>,
    graph_store: Option<Arc<dyn GraphStore>>,
    graph_extractor: Option<Arc<dyn GraphExtractor>>,
    mismatch: Mismatch,
    background: bool,
    embedding_cache: usize,
    page_cache: Option<usize>,
    digest: Digest,
}

#[derive(Debug)]
enum Backend {
    Memory,
    #[cfg_attr(
        not(feature = "sqlite"),
        allow(dead_code, reason = "without the feature it gives the error that says so")
    )]
    Sqlite(PathBuf),
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "without the feature it gives the error that says so")
    )]
    Postgres(Address),
    Stores(Stores),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            backend: Backend::Memory,
            embedder: Arc::new(HashEmbedder::default()),
            replaced: None,
            reranker: None,
            analyzer: Arc::new(TextAnalyzer),
            clock: Arc::new(SystemClock),
            options: RecallOptions::default(),
            scene_policy: ScenePolicy::default(),
            synonyms: None,
            graph_store: None,
            graph_extractor: None,
            mismatch: Mismatch::default(),
            background: true,
            embedding_cache: 16 << 20,
            page_cache: None,
            digest: Digest::default(),
        }
    }
}

impl Builder {
    /// Keeps everything there: in a SQLite file, or in a Postgres database.
    pub fn database(self, database: Database) -> Self {
        match database.0 {
            Place::File(path) => self.sqlite(path),
            Place::Server(Address(url)) => self.postgres(url),
        }
    }

    /// Keeps everything in one SQLite file, which is made when it is not there.
    pub fn sqlite(mut self, path: impl Into<PathBuf>) -> Self {
        self.backend = Backend::Sqlite(path.into());
        self
    }

    /// Keeps everything in a Postgres database with pgvector: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. The
    /// address is never shown. Needs the feature `postgres`; a `PostgresStore` with options of its own goes through
    /// [`stores`](Self::stores).
    pub fn postgres(mut self, url: impl Into<String>) -> Self {
        self.backend = Backend::Postgres(Address(url.into()));
        self
    }

    /// Keeps everything in memory, until the engine is dropped.
    pub fn in_memory(mut self) -> Self {
        self.backend = Backend::Memory;
        self
    }

    /// Keeps everything in stores of the caller's own. `records` is the record store and its job queue. The vector store's
    /// space has to be the embedder's. Synonyms and the graph stay in memory, unless [`synonyms`](Self::synonyms) and
    /// [`graph_store`](Self::graph_store) name stores for them.
    pub fn stores<R: RecordStore + JobQueue>(
        mut self,
        records: Arc<R>,
        keywords: Arc<dyn KeywordStore>,
        vectors: Arc<dyn VectorStore>,
    ) -> Self {
        self.backend = Backend::Stores(Stores { records: records.clone(), jobs: records, keywords, vectors });
        self
    }

    /// Makes vectors with this; the hash embedder, unless told otherwise.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Takes the place of another embedder: a store whose vectors are `old`'s is filled with those of the new one in the
    /// background, goes by the old ones until the new ones are complete, and then changes over, all while it is written and
    /// searched. Records that come in meanwhile get both. The old ones stay until
    /// [`MemoryEngine::drop_second_generation`].
    pub fn replacing(mut self, old: Arc<dyn Embedder>) -> Self {
        self.replaced = Some(old);
        self
    }

    /// Has the best candidates of a recall judged once more, together with the question.
    pub fn reranker(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// Makes vectors with a local model and has it judge the best candidates.
    #[cfg(feature = "local-models")]
    pub fn local_model(self, model: &memory_engine_local_models::LocalModel) -> Self {
        self.embedder(Arc::new(model.embedder())).reranker(Arc::new(model.reranker()))
    }

    /// Makes terms with this; the analyzer for Chinese and English, unless told otherwise.
    pub fn analyzer(mut self, analyzer: Arc<dyn Analyzer>) -> Self {
        self.analyzer = analyzer;
        self
    }

    /// Takes the time from this clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Recalls with these options.
    pub fn recall_options(mut self, options: RecallOptions) -> Self {
        self.options = options;
        self
    }

    /// What a recall sees from each scene, and with what weight.
    pub fn scene_policy(mut self, policy: ScenePolicy) -> Self {
        self.scene_policy = policy;
        self
    }

    /// Keeps synonyms there; beside the records, unless told otherwise.
    pub fn synonyms(mut self, synonyms: Arc<dyn SynonymStore>) -> Self {
        self.synonyms = Some(synonyms);
        self
    }

    /// Has this find out what records say about entities and relations, and recalls go by it, too. Without it there is no
    /// graph. [`EntityGraph::index`](crate::EntityGraph::index) has records read.
    pub fn graph(mut self, extractor: Arc<dyn GraphExtractor>) -> Self {
        self.graph_extractor = Some(extractor);
        self
    }

    /// Keeps the graph there; beside the records, unless told otherwise.
    pub fn graph_store(mut self, store: Arc<dyn GraphStore>) -> Self {
        self.graph_store = Some(store);
        self
    }

    /// What to do about a store whose indexes were made otherwise.
    pub fn on_mismatch(mut self, mismatch: Mismatch) -> Self {
        self.mismatch = mismatch;
        self
    }

    /// Whether a task in the background indexes what is written; without it [`MemoryEngine::drain`] does.
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// How many bytes of vectors are kept in memory, so that a text that was embedded lately is not embedded again: 16 MiB,
    /// unless told otherwise; 0 for none. The hash embedder needs none and has none.
    pub fn embedding_cache(mut self, max_bytes: usize) -> Self {
        self.embedding_cache = max_bytes;
        self
    }

    /// How many bytes of a SQLite file are kept in memory beside the system: 80 MB, unless told otherwise. Less makes large
    /// memories slower, and nothing else.
    pub fn page_cache(mut self, max_bytes: usize) -> Self {
        self.page_cache = Some(max_bytes);
        self
    }

    /// What the background makes of turns beside indexing them.
    pub fn digest(mut self, digest: Digest) -> Self {
        self.digest = digest;
        self
    }

    /// Opens the stores and starts the background task on the current tokio runtime.
    ///
    /// # Errors
    /// Those of opening the store (`NotFound`, `Unavailable`, `SchemaMismatch` …); `DimensionMismatch` when the vector
    /// store holds another space than the embedder makes; `Unsupported` outside a tokio runtime.
    pub async fn build(self) -> Result<MemoryEngine> {
        let outside = |_| Error::new(ErrorKind::Unsupported, "build", "call it within a tokio runtime");
        let runtime = tokio::runtime::Handle::try_current().map_err(outside)?;
        let space = self.embedder.space().clone();
        // What is cheaper to make than to look up is not kept.
        let cached = |embedder: Arc<dyn Embedder>| -> Arc<dyn Embedder> {
            match self.embedding_cache {
                bytes if bytes > 0 && embedder.semantic_weight() >= WORTH_KEEPING => {
                    Arc::new(CachedEmbedder::new(embedder, bytes))
                }
                _ => embedder,
            }
        };
        let embedder = cached(self.embedder);
        let replaced = self.replaced.filter(|old| *old.space() != space).map(cached);
        #[cfg(any(feature = "sqlite", feature = "postgres"))]
        let analyzed_by = index_fingerprint(self.analyzer.as_ref());
        let in_memory = || -> Arc<dyn SynonymStore> { Arc::new(MemorySynonymStore::new()) };
        let graph_in_memory = || -> Arc<dyn GraphStore> { Arc::new(MemoryGraphStore::new()) };
        #[cfg(any(feature = "sqlite", feature = "postgres"))]
        let store_options = {
            let mut options = StoreOptions::new(space.clone(), analyzed_by);
            options.clock = Arc::clone(&self.clock);
            options.mismatch = self.mismatch;
            options.replaced = replaced.as_ref().map(|old| old.space().clone());
            options
        };
        let (stores, synonyms, graph) = match self.backend {
            Backend::Stores(stores) => (stores, in_memory(), graph_in_memory()),
            Backend::Memory => {
                let records = Arc::new(MemoryRecordStore::with_clock(Arc::clone(&self.clock)));
                let stores = Stores {
                    records: records.clone(),
                    jobs: records,
                    keywords: Arc::new(MemoryKeywordStore::new()),
                    vectors: Arc::new(MemoryVectorStore::new(space.clone())),
                };
                (stores, in_memory(), graph_in_memory())
            }
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(path) => {
                use memory_engine_sqlite::{SqliteOptions, SqliteStore};
                let mut options = SqliteOptions::from(store_options);
                options.cache_bytes = self.page_cache.unwrap_or(options.cache_bytes);
                all_of(Arc::new(SqliteStore::open(path, options).await?))
            }
            #[cfg(feature = "postgres")]
            Backend::Postgres(Address(url)) => {
                use memory_engine_postgres::PostgresStore;
                all_of(Arc::new(PostgresStore::connect(&url, store_options.into()).await?))
            }
            #[cfg(not(feature = "postgres"))]
            Backend::Postgres(_) => {
                return Err(Error::new(ErrorKind::Unsupported, "build", "the feature `postgres` is off; switch it on"));
            }
            #[cfg(not(feature = "sqlite"))]
            Backend::Sqlite(_) => {
                return Err(Error::new(ErrorKind::Unsupported, "build", "the feature `sqlite` is off; switch it on"));
            }
        };
        if *stores.vectors.space() != space {
            let message = format!("the vector store holds {}, the embedder makes {space}", stores.vectors.space());
            return Err(Error::new(ErrorKind::DimensionMismatch, "build", message));
        }
        // A store without generations has no vectors of another embedder.
        let changes = self.mismatch == Mismatch::Refill || replaced.is_some();
        let replaced = replaced.zip(stores.vectors.generations());
        let replaced =
            replaced.map(|(embedder, store)| Space { vectors: store.beside(embedder.space().clone()), embedder });
        let wanted = Space { embedder, vectors: Arc::clone(&stores.vectors) };
        let spaces = Spaces::new(wanted, replaced, changes).await?;
        let synonyms = self.synonyms.unwrap_or(synonyms);
        let thesaurus = SharedThesaurus::new(synonyms, Arc::clone(&self.analyzer), Arc::clone(&self.clock));
        let graph = GraphParts { store: self.graph_store.unwrap_or(graph), extractor: self.graph_extractor };
        let parts = Parts {
            stores,
            graph,
            thesaurus,
            scene_policy: self.scene_policy,
            spaces,
            reranker: self.reranker,
            analyzer: self.analyzer,
            clock: self.clock,
            options: self.options,
            digest: self.digest,
        };
        Ok(MemoryEngine::start(parts, self.background.then_some(runtime)))
    }
}

/// One database as every store.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn all_of<S>(store: Arc<S>) -> (Stores, Arc<dyn SynonymStore>, Arc<dyn GraphStore>)
where
    S: RecordStore + JobQueue + KeywordStore + VectorStore + SynonymStore + GraphStore,
{
    let stores =
        Stores { records: store.clone(), jobs: store.clone(), keywords: store.clone(), vectors: store.clone() };
    (stores, store.clone(), store)
}
