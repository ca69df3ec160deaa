//! The builder of an engine.

mod policies;

use std::{path::PathBuf, sync::Arc};

use jiff::tz::TimeZone;
use memory_engine_core::{
    Clock, EmbeddingSpace, Error, ErrorKind, Language, Locale, Mismatch, Result, ReviewPolicy, StoreOptions,
    SystemClock,
};
use memory_engine_curation::Curation;
use memory_engine_databases::{Backend, Database, Stores, check_timers};
use memory_engine_embedder::{CachedEmbedder, DefaultEmbedder, Embedder};
use memory_engine_enrichment::{Enrichment, EnrichmentOptions};
use memory_engine_graph::GraphExtractor;
use memory_engine_indexing::{
    self as indexing, EmbeddingBackend, EmbeddingBackends, IndexedStore, RetentionPolicy, index_fingerprint,
};
use memory_engine_keyword_store::{Analyzer, TextAnalyzer};
#[cfg(feature = "postgres")]
use memory_engine_postgres::{PostgresOptions, sqlx::PgPool};
#[cfg(feature = "llm")]
use memory_engine_recall::Rewrite;
use memory_engine_recall::{RecallOptions, RecallParts, RecallPipeline};
use memory_engine_reranker::Reranker;
use memory_engine_scene::ScenePolicy;
use memory_engine_screening::ScreeningPolicy;
#[cfg(feature = "sqlite")]
use memory_engine_sqlite::SqliteOptions;
use memory_engine_synonyms::SharedThesaurus;

use crate::{
    audit::{AuditOptions, AuditedSynonymStore},
    engine::{EngineParts, MemoryEngine},
};

/// Embedders with at least this semantic weight are slow enough for their vectors to be cached.
const CACHE_MIN_SEMANTIC_WEIGHT: f64 = 0.1;

/// The error of a builder without a store. A store in memory by default would lose what a program wants to keep.
const NO_STORE: &str = "the builder has no store; name one: `sqlite(path)`, `postgres(url)`, `database(database)`, \
    `stores(stores)`, or `in_memory()` for memories that end with the program";

/// Builds a [`MemoryEngine`] over one store, which has to be named.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{
///     EnrichmentOptions, MemoryEngine, RecallOptions, Scope, admin::Mismatch, embed::HashEmbedder,
///     graph::RuleExtractor, recall::LexicalReranker, scene::ScenePolicy, testing::ManualClock,
/// };
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00+08:00".parse()?));
/// let memory = MemoryEngine::builder()
///     .in_memory() // or .sqlite("memory.db"), or .postgres("postgres://…")
///     .embedder(HashEmbedder::default())
///     .reranker(LexicalReranker::default())
///     .enrichment(EnrichmentOptions::rules()?)
///     .graph(RuleExtractor::default())
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
/// println!("vectors came after {:?}", memory.admin().latency_stats()[&memory_engine::Job::Embedding].p95);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use]
pub struct Builder {
    backends: Vec<Backend>,
    embedder: Arc<dyn Embedder>,
    replaced: Option<Arc<dyn Embedder>>,
    reranker: Option<Arc<dyn Reranker>>,
    #[cfg(feature = "llm")]
    rewrite: Option<Rewrite>,
    analyzer: Arc<dyn Analyzer>,
    clock: Arc<dyn Clock>,
    options: RecallOptions,
    scene_policy: ScenePolicy,
    pub(crate) graph_extractor: Option<Arc<dyn GraphExtractor>>,
    mismatch: Mismatch,
    background: bool,
    embedding_cache: usize,
    pub(crate) enrichment: EnrichmentOptions,
    retention: RetentionPolicy,
    locale: Locale,
    review: ReviewPolicy,
    screening: ScreeningPolicy,
    audit: AuditOptions,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            backends: Vec::new(),
            embedder: Arc::new(DefaultEmbedder::default()),
            replaced: None,
            reranker: None,
            #[cfg(feature = "llm")]
            rewrite: None,
            analyzer: Arc::new(TextAnalyzer),
            clock: Arc::new(SystemClock),
            options: RecallOptions::default(),
            scene_policy: ScenePolicy::default(),
            graph_extractor: None,
            mismatch: Mismatch::default(),
            background: true,
            embedding_cache: 16 << 20,
            enrichment: EnrichmentOptions::default(),
            retention: RetentionPolicy::default(),
            locale: Locale::default(),
            review: ReviewPolicy::default(),
            screening: ScreeningPolicy::default(),
            audit: AuditOptions::default(),
        }
    }
}

impl MemoryEngine {
    /// Opens a SQLite file, which is created if it is missing, or a Postgres database, with default settings.
    ///
    /// ```
    /// use memory_engine::prelude::*;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let memory = MemoryEngine::open(path).await?; // or a &str: "memory.db", "postgres://…"
    /// memory.remember(&Scope::user("lin")?, "hello").await?;
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub async fn open(database: impl Into<Database>) -> Result<Self> {
        Self::builder().database(database).build().await
    }

    /// Returns a builder for an engine.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Stores everything in this database: a SQLite file or a Postgres database.
    pub fn database(mut self, database: impl Into<Database>) -> Self {
        self.backends.push(database.into().into());
        self
    }

    /// Stores everything in one SQLite file, which is created if it is missing. Needs the feature `sqlite`, which is
    /// on by default.
    pub fn sqlite(mut self, path: impl Into<PathBuf>) -> Self {
        self.backends.push(Database::file(path).into());
        self
    }

    /// Stores everything in one SQLite file, with these settings of its threads, caches and timeouts.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, sqlite::SqliteOptions};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let small = SqliteOptions::default().with_cache_bytes(16 << 20).with_readers(2);
    /// let memory = MemoryEngine::builder().sqlite_with(path, small).build().await?;
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "sqlite")]
    pub fn sqlite_with(mut self, path: impl Into<PathBuf>, options: SqliteOptions) -> Self {
        self.backends.push(Backend::sqlite(path.into(), options));
        self
    }

    /// Stores everything in a Postgres database with pgvector:
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. No message shows user, password or settings of the
    /// address. Needs the feature `postgres`.
    pub fn postgres(mut self, url: impl Into<String>) -> Self {
        self.backends.push(Database::postgres(url).into());
        self
    }

    /// Stores everything in a Postgres database, with these settings of its pool, timeouts and schema.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use memory_engine::{MemoryEngine, postgres::PostgresOptions};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let options = PostgresOptions::default()
    ///     .with_max_connections(20)
    ///     .with_statement_timeout(Duration::from_secs(5))
    ///     .with_schema("memory");
    /// let memory = MemoryEngine::builder().postgres_with("postgres://db/app", options).build().await?;
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "postgres")]
    pub fn postgres_with(mut self, url: impl Into<String>, options: PostgresOptions) -> Self {
        self.backends.push(Backend::postgres(url.into(), options));
        self
    }

    /// Stores everything in a Postgres database, through an existing pool of the application. See
    /// [`PostgresStore::from_pool`](memory_engine_postgres::PostgresStore::from_pool) for the settings of its
    /// connections.
    ///
    /// ```no_run
    /// use memory_engine::{MemoryEngine, postgres::{PostgresOptions, sqlx::PgPool}};
    ///
    /// # async fn with(pool: PgPool) -> memory_engine::Result<()> {
    /// let options = PostgresOptions::default().with_schema("memory");
    /// let memory = MemoryEngine::builder().postgres_pool(pool.clone(), options).build().await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "postgres")]
    pub fn postgres_pool(mut self, pool: PgPool, options: PostgresOptions) -> Self {
        self.backends.push(Backend::postgres_pool(pool, options));
        self
    }

    /// Stores everything in memory, until the engine is dropped.
    pub fn in_memory(mut self) -> Self {
        self.backends.push(Backend::default());
        self
    }

    /// Stores everything in the caller's stores: one value that implements every store trait, or a [`Stores`] that
    /// names a store for each trait. The space of the vectors has to be the embedder's, or [`build`](Self::build)
    /// fails with `DimensionMismatch`.
    pub fn stores(mut self, stores: impl Into<Stores>) -> Self {
        let stores: Stores = stores.into();
        self.backends.push(stores.into());
        self
    }

    /// Embeds with a local model.
    #[cfg(feature = "local-models")]
    pub fn local_model(self, model: &memory_engine_local_models::LocalModel) -> Self {
        self.embedder(model.embedder())
    }

    /// Sets the time zone of the users: of days in queries and in facts ("yesterday", "next Friday"), and of the dates
    /// in summaries, profiles, injections and contexts. Default: UTC.
    ///
    /// A new record gets the zone in its metadata, unless it has [one](memory_engine_core::Record::ZONE_KEY). Its days
    /// stay those of that zone if the engine's changes. A query or an extractor with a zone of its own keeps it.
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.locale.zone = zone;
        self
    }

    /// Sets the language of summaries, profiles, injections and prompts. Default: the language of the text at hand.
    ///
    /// Texts in every language are stored and found, regardless of this setting. Facts by rules are in the language of
    /// their sentence.
    pub fn language(mut self, language: Language) -> Self {
        self.locale.language = Some(language);
        self
    }

    memory_engine_core::setters! {
        /// Sets the embedder. Default: [`DefaultEmbedder`].
        embedder(embedder: impl Embedder) => embedder = Arc::new(embedder);

        /// Replaces another embedder without interruption. The vectors of the new embedder are computed in the
        /// background. Searches use the vectors of `old` until the new ones are complete, and then cut over. New
        /// records get both vectors. The old vectors stay until
        /// [`Admin::drop_second_embedding_version`](crate::admin::Admin::drop_second_embedding_version).
        replacing(old: impl Embedder) => replaced = Some(Arc::new(old));

        /// Reranks the best candidates of a recall. Default: none.
        reranker(reranker: impl Reranker) => reranker = Some(Arc::new(reranker));
        /// Rewrites a query that finds nothing with a model, in recalls with the dialogue before it
        /// ([`recall_enhanced`](MemoryEngine::recall_enhanced)) that have no rewrite of their own. Default: none.
        #[cfg(feature = "llm")]
        rewrite(rewrite: Rewrite) => rewrite = Some(rewrite);
        /// Sets the analyzer. Default: the analyzer for Chinese and English.
        analyzer(analyzer: impl Analyzer) => analyzer = Arc::new(analyzer);
        /// Sets the clock. Default: the system clock.
        clock(clock: impl Clock) => clock = Arc::new(clock);
        /// Sets the options of recalls whose query has none.
        recall_options(options: RecallOptions);
        /// Sets the scenes that are visible from each scene, with their weights.
        scene_policy(policy: ScenePolicy) => scene_policy = policy;
        /// Sets what happens if the indexes of the store are of another embedder or analyzer. Default: refuse.
        on_mismatch(mismatch: Mismatch);
        /// Sets whether a background task runs the queued jobs. If not, only [`MemoryEngine::drain`] does. Default:
        /// true.
        background(background: bool);
        /// Sets the size of the cache of embeddings, in bytes, so that a text is not embedded twice; 0 for none. The
        /// hash embedder has no cache. Default: 16 MiB.
        embedding_cache(max_bytes: usize) => embedding_cache = max_bytes;
    }

    /// Returns the options with which a SQL store of this engine must be opened: the embedding space, the fingerprint
    /// of the analyzer, the clock, and the action for a mismatch. For stores that are opened separately and passed to
    /// [`stores`](Self::stores).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use memory_engine::{MemoryEngine, sqlite::SqliteStore, store::{MemoryKeywordStore, Stores}};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let builder = MemoryEngine::builder();
    /// let file = SqliteStore::open(path, builder.store_options()).await?;
    /// let keywords = Arc::new(MemoryKeywordStore::new()); // your own keyword index
    /// let memory = builder.stores(Stores { keywords, ..Stores::from(file) }).build().await?;
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub fn store_options(&self) -> StoreOptions {
        let space = self.embedder.space();
        let mut options = StoreOptions::new(space.clone(), index_fingerprint(self.analyzer.as_ref()));
        options.clock = Arc::clone(&self.clock);
        options.mismatch = self.mismatch;
        options.replaced = self.replaced.as_ref().map(|old| old.space().clone()).filter(|old| old != space);
        options
    }

    /// Returns the one store that was named.
    fn take_backend(&mut self) -> Result<Backend> {
        let backend = self.backends.pop().ok_or_else(|| Error::invalid("build", NO_STORE))?;
        if self.backends.is_empty() {
            return Ok(backend);
        }
        Err(Error::invalid("build", "the builder has more than one store; name one of them"))
    }

    /// Opens the stores and starts the background task on the current tokio runtime.
    ///
    /// # Errors
    /// Those of opening the store (`NotFound`, `Unavailable`, `SchemaMismatch` …); `DimensionMismatch` if the vectors
    /// of the store are of another space than the embedder's; `Unsupported` outside of a tokio runtime, or on one
    /// without timers; `InvalidInput` without a store, with more than one, and for recall options or a scene policy
    /// that are not valid.
    pub async fn build(mut self) -> Result<MemoryEngine> {
        check_timers("build")?;
        self.options.validate()?;
        self.scene_policy.validate()?;
        self.retention.validate()?;
        let space = self.embedder.space().clone();
        // Vectors of the same space need no cut-over.
        self.replaced = self.replaced.filter(|old| *old.space() != space);
        let options = self.store_options();
        let backend = self.take_backend()?;
        let stores = backend.open(options).await?;
        check_space(&stores, &space)?;
        let embedding = self.embedding_backends(&stores).await?;
        let Stores { records, jobs, keywords, vectors, graph, synonyms } = stores;
        let stores = indexing::StoreSet { records, jobs, keywords, vectors, graph };
        let auditor = self.audit.auditor(stores.records.as_ref(), &self.clock).await?;
        let mut store = IndexedStore::new(stores, embedding, Arc::clone(&self.analyzer), Arc::clone(&self.clock))
            .with_zone(self.locale.zone.clone())
            .with_screening(self.screening);
        let mut synonyms = synonyms;
        if let Some(auditor) = auditor {
            synonyms = Arc::new(AuditedSynonymStore::new(synonyms, Arc::clone(&auditor)));
            store = store.with_auditor(auditor);
        }
        let store = Arc::new(store.with_retention(self.retention));
        let thesaurus = Arc::new(SharedThesaurus::new(synonyms, self.analyzer, self.clock));
        let recall = RecallPipeline::new(RecallParts {
            store: Arc::clone(&store),
            uses_graph: self.graph_extractor.is_some(),
            reranker: self.reranker,
            #[cfg(feature = "llm")]
            rewrite: self.rewrite,
            #[cfg(not(feature = "llm"))]
            rewrite: None,
            options: self.options,
            scene_policy: self.scene_policy,
            thesaurus: Arc::clone(&thesaurus),
            locale: self.locale.clone(),
        });
        let (extractor, locale) = (self.graph_extractor, self.locale);
        let enrichment = Enrichment::new(Arc::clone(&store), self.enrichment, extractor, locale, self.review);
        if self.background {
            enrichment.worker().spawn();
        }
        let curation = Curation::new(store, enrichment, thesaurus, self.review);
        Ok(MemoryEngine::new(EngineParts { recall, curation }))
    }

    /// Pairs the embedders with their vectors. A store without embedding versions has no vectors of a replaced
    /// embedder.
    async fn embedding_backends(&self, stores: &Stores) -> Result<EmbeddingBackends> {
        let cuts_over = self.mismatch == Mismatch::Refill || self.replaced.is_some();
        let replaced = self.replaced.as_ref().zip(stores.vectors.embedding_versions());
        let replaced = replaced.map(|(embedder, store)| EmbeddingBackend {
            vectors: store.in_space(embedder.space().clone()),
            embedder: self.cached(embedder),
        });
        let current = EmbeddingBackend { embedder: self.cached(&self.embedder), vectors: Arc::clone(&stores.vectors) };
        EmbeddingBackends::new(current, replaced, cuts_over).await
    }

    /// Adds a cache to an embedder if computing its vectors is slower than a look-up.
    fn cached(&self, embedder: &Arc<dyn Embedder>) -> Arc<dyn Embedder> {
        let embedder = Arc::clone(embedder);
        match self.embedding_cache {
            bytes if bytes > 0 && embedder.semantic_weight() >= CACHE_MIN_SEMANTIC_WEIGHT => {
                Arc::new(CachedEmbedder::new(embedder, bytes))
            }
            _ => embedder,
        }
    }
}

fn check_space(stores: &Stores, space: &EmbeddingSpace) -> Result<()> {
    if stores.vectors.space() == space {
        return Ok(());
    }
    let message = format!("the vector store holds {}, the embedder makes {space}", stores.vectors.space());
    Err(Error::new(ErrorKind::DimensionMismatch, "build", message))
}
