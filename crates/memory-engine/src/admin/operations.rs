//! Operating a store: statistics, queues, vectors, tombstones, imports of whole records.

use std::collections::BTreeMap;

use memory_engine_core::{
    DamagedRecord, Embedding, Failure, Hit, Job, PeriodCount, Periods, PutMode, Record, RecordGroup, RecordId, Result,
    Scope, Terms, Tombstone, Write, WriteResult,
};
use memory_engine_curation::{Forget, ForgetReport, LinkedTurns};
use memory_engine_enrichment::{LatencyStats, Progress};
use memory_engine_indexing::{Turn, verb};
use memory_engine_recall::{DegradedRecall, Explanation, RecallQuery};
use memory_engine_vector_store::{EmbeddingVersions, VectorQuery};
use tracing::{Span, field::Empty};

use crate::engine::MemoryEngine;

/// The operations of an engine that an application seldom needs: statistics, its job queue, its vectors, its
/// tombstones, and writing with full control. [`MemoryEngine::admin`] returns it.
///
/// ```
/// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let options = EnrichmentOptions::rules()?;
/// let memory = MemoryEngine::builder().in_memory().enrichment(options).background(false).build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "我住在上海").await?;
///
/// let admin = memory.admin();
/// assert_eq!(admin.reindex(&lin).await?, 1);
/// assert_eq!(admin.requeue_enrichment(&lin).await?, 1);
/// memory.drain(&lin, |_| ()).await?;
/// for failure in admin.failures(&lin, 10).await? {
///     println!("{} of {}: {}", failure.job.as_str(), failure.id, failure.reason);
/// }
/// assert!(memory.stats(&lin).await?.queued.values().all(|waiting| *waiting == 0));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Admin {
    pub(crate) engine: MemoryEngine,
}

/// Statistics and analysis.
impl Admin {
    /// Returns at most `limit` recalls within `scope` in which a stage failed or was late, latest first. This process
    /// keeps the latest 200 of all scopes.
    pub fn degraded_recalls(&self, scope: &Scope, limit: usize) -> Vec<DegradedRecall> {
        self.engine.recall_pipeline().degraded_recalls(scope, limit)
    }

    /// Returns the groups of the records within `scope`: the number of records of each kind, state and application at
    /// each address, with their times. Lists of users, agents and sessions can be made of them without reading records.
    ///
    /// # Errors
    /// The store's error.
    pub async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        verb!("record_groups", scope, {}, self.engine.indexed_store().records().record_groups(scope))
    }

    /// Counts the records within `scope`, in any state, by the period in which they occurred and by kind, for charts.
    /// The store reads the time and kind of every record within `scope`, but no texts.
    ///
    /// # Errors
    /// The store's error.
    pub async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        verb!("period_counts", scope, {}, self.engine.indexed_store().records().period_counts(scope, periods))
    }

    /// Explains the rank of a record in the result of a query, or its absence.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, RecallQuery, Scope, Turn, recall::Verdict};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let dragon = memory.remember(&lin, Turn::user("The dragon sleeps").with_scene("plot")).await?;
    ///
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("plot");
    /// let why = memory.admin().explain(&lin, asked, dragon).await?;
    /// assert_eq!(why.verdict, Verdict::Hit { place: 1 });
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("meta");
    /// let why = memory.admin().explain(&lin, asked, dragon).await?;
    /// println!("{}", why.verdict);
    /// assert!(why.hit.is_none());
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`MemoryEngine::recall`].
    pub async fn explain(&self, scope: &Scope, query: impl Into<RecallQuery>, id: RecordId) -> Result<Explanation> {
        let query = query.into();
        verb!("explain", scope, {}, self.engine.recall_pipeline().explain(scope, &query, id))
    }

    /// Returns the index terms of each text, in the same order.
    ///
    /// # Errors
    /// `Internal` if the analysis was stopped.
    pub async fn analyze_texts(&self, texts: Vec<String>) -> Result<Vec<Terms>> {
        let work = self.engine.indexed_store().analysis().text_terms(texts);
        verb!("admin.analyze_texts", {}, work)
    }
}

/// Damaged records.
impl Admin {
    /// Returns the records within `scope` that [cannot be read](DamagedRecord), each with the values of its row by
    /// column. Reads all records.
    ///
    /// # Errors
    /// The store's error.
    pub async fn damaged_records(&self, scope: &Scope) -> Result<Vec<(DamagedRecord, Vec<serde_json::Value>)>> {
        let work = self.engine.indexed_store().damaged_records(scope);
        verb!("admin.damaged_records", scope, {}, work)
    }

    /// Removes records, and everything that was derived from them, so that they can be stored again: unlike
    /// [`forget`](MemoryEngine::forget), leaves no tombstone of the records themselves.
    ///
    /// # Errors
    /// The store's error.
    pub async fn remove_records(&self, scope: &Scope, ids: &[RecordId]) -> Result<ForgetReport> {
        let report = self.engine.forget(scope, Forget::Linked { ids: ids.to_vec(), turns: LinkedTurns::Keep }).await?;
        self.engine.indexed_store().records().remove_tombstones(scope, ids).await?;
        Ok(report)
    }
}

/// The job queue.
impl Admin {
    /// Returns at most `limit` jobs within `scope` whose last attempt failed, those queued longest first.
    /// [`reindex`](Self::reindex) and [`requeue_enrichment`](Self::requeue_enrichment) queue all jobs again.
    ///
    /// # Errors
    /// The store's error.
    pub async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        let work = self.engine.indexed_store().queue().failures(scope, limit);
        verb!("admin.failures", scope, { limit = limit }, work)
    }

    /// Queues the dead letters of these jobs within `scope` again, as if they had never failed. Returns their number.
    /// [`MemoryEngine::drain`] waits for the jobs.
    ///
    /// # Errors
    /// The store's error.
    pub async fn retry_dead_letters(&self, scope: &Scope, jobs: &[Job]) -> Result<u64> {
        let work = self.engine.enrichment().retry_dead_letters(scope, jobs);
        verb!("admin.retry_dead_letters", scope, { records = Empty }, work, note_records)
    }

    /// Queues every active record within `scope` to be indexed again. Returns the number of records.
    /// [`MemoryEngine::drain`] waits for the jobs.
    ///
    /// # Errors
    /// The store's error.
    pub async fn reindex(&self, scope: &Scope) -> Result<u64> {
        let work = self.engine.enrichment().requeue_indexing(scope);
        verb!("admin.reindex", scope, { records = Empty }, work, note_records)
    }

    /// Queues every turn within `scope` for the enrichment jobs as if it were new: for turns that were stored before
    /// enrichment was switched on, or whose jobs are dead letters. Returns the number of turns. Stored facts are not
    /// added twice. [`MemoryEngine::drain`] waits for the jobs.
    ///
    /// # Errors
    /// `Unsupported` if this engine has no jobs for turns; the store's error.
    pub async fn requeue_enrichment(&self, scope: &Scope) -> Result<u64> {
        let work = self.engine.enrichment().requeue_enrichment(scope);
        verb!("admin.requeue_enrichment", scope, { records = Empty }, work, note_records)
    }

    /// Returns the latency statistics of each kind of job that this handle and its clones have run.
    /// [`MemoryEngine::stats`] counts the queued jobs.
    pub fn latency_stats(&self) -> BTreeMap<Job, LatencyStats> {
        self.engine.enrichment().worker().latencies()
    }
}

/// Writes with full control.
impl Admin {
    /// As [`MemoryEngine::remember`], without the background jobs `skipped`.
    ///
    /// # Errors
    /// As [`MemoryEngine::remember`].
    pub async fn remember_without(&self, scope: &Scope, turn: Turn, skipped: &[Job]) -> Result<RecordId> {
        let work = self.engine.acting(self.engine.remember_without(scope, turn, skipped));
        verb!("admin.remember_without", scope, {}, work)
    }

    /// Writes records and their index terms in one transaction, all or none. [`jobs_for`](Self::jobs_for) returns the
    /// jobs of a record that is a turn.
    ///
    /// # Errors
    /// `InvalidInput` for a record that [`check`](Self::check) refuses; `Conflict` and `NotFound` for a write whose
    /// mode or precondition does not hold; the errors of the store.
    pub async fn write(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        let count = writes.len();
        verb!(
            "admin.write",
            scope,
            { records = count },
            self.engine.acting(self.engine.indexed_store().write(scope, writes))
        )
    }

    /// Returns the error with which [`MemoryEngine::store`] would refuse a record, if it would.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], and for a time more than a day after the engine's clock.
    pub fn check(&self, record: &Record) -> Result<()> {
        self.engine.indexed_store().check(record)
    }

    /// Returns the background jobs that a record needs in addition to indexing. Only turns need any.
    pub fn jobs_for(&self, record: &Record) -> Vec<Job> {
        self.engine.enrichment().jobs_for(record)
    }

    /// As [`MemoryEngine::store`], for callers who have the records' vectors, from the engine's embedder or from
    /// another program with the same embedding space. On SQLite they are written in the same transaction; when this
    /// returns, the records are found by their vectors, too. While an embedder is [being
    /// replaced](crate::Builder::replacing), these vectors are dropped and computed again in the background.
    ///
    /// ```
    /// use memory_engine::{
    ///     Kind, MemoryEngine, PutMode, Record, Scope, SystemClock, embed::{Embedder, Purpose},
    /// };
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let admin = memory.admin();
    /// let lin = Scope::user("lin")?;
    /// let record = Record::new(lin.clone(), Kind::NOTE, "walnuts on the list", &SystemClock);
    /// admin.check(&record)?;
    /// let vector = memory.settings().embedder().embed(&["walnuts on the list"], Purpose::Document).await?.remove(0);
    /// admin.store_embedded(&lin, vec![(record.clone(), vector.clone())], PutMode::Upsert).await?;
    /// // The same for records that are stored: for imports, with vectors that were made elsewhere.
    /// assert_eq!(admin.adopt_vectors(&lin, vec![(record.id, vector.values().to_vec())]).await?, 1);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`MemoryEngine::store`], and `DimensionMismatch` for a vector of another space.
    pub async fn store_embedded(
        &self,
        scope: &Scope,
        records: Vec<(Record, Embedding)>,
        mode: PutMode,
    ) -> Result<Vec<WriteResult>> {
        let space = self.engine.settings().embedder().space();
        records.iter().try_for_each(|(_, embedding)| space.check("store", embedding))?;
        let is_single = self.engine.indexed_store().embedding().is_single();
        let write = |(record, embedding): (Record, Embedding)| Write {
            jobs: self.jobs_for(&record),
            embedding: Some(embedding).filter(|_| is_single),
            ..Write::new(record, mode)
        };
        let writes: Vec<Write> = records.into_iter().map(write).collect();
        let count = writes.len();
        let work = self.engine.acting(self.engine.indexed_store().write(scope, writes));
        verb!("admin.store_embedded", scope, { records = count }, work)
    }
}

/// Vectors, and the change of the embedder of a store that is in use. The builder begins the change:
/// [`replacing`](crate::Builder::replacing) or [`Mismatch::Refill`](crate::admin::Mismatch::Refill).
impl Admin {
    /// Stores vectors that another program computed for stored records, for imports. The caller guarantees that they
    /// are from this engine's model and from the records' texts; this is not checked. Returns the number of vectors
    /// stored. Records outside `scope` are skipped. While another embedder's vectors serve, all are skipped.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector of another size, `InvalidInput` for one without a direction; the store's error.
    pub async fn adopt_vectors(&self, scope: &Scope, vectors: Vec<(RecordId, Vec<f32>)>) -> Result<u64> {
        let work = self.engine.indexed_store().adopt_vectors(scope, vectors);
        verb!("admin.adopt_vectors", scope, { records = Empty }, work, note_records)
    }

    /// Returns the records with the nearest vectors in the serving embedding space, best first. No other retriever
    /// takes part, and no score is changed. `scope` is searched as it is, without the branches that it inherits from.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector of another dimension; the store's error.
    pub async fn search_vectors(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        let note = |span: &Span, hits: &Vec<Hit>| _ = span.record("hits", hits.len());
        let work = self.engine.indexed_store().vectors().search(scope, query);
        verb!("admin.search_vectors", scope, { limit = query.limit, hits = Empty }, work, note)
    }

    /// Returns the versions of the vectors in the store, all tenants together; `None` for a store that has only one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use memory_engine::{MemoryEngine, Scope, admin::Mismatch, embed::HashEmbedder};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("memory.db");
    /// let old = Arc::new(HashEmbedder::default());
    /// let new = Arc::new(HashEmbedder::with_dimensions(64)?);
    /// let lin = Scope::user("lin")?;
    /// let memory = MemoryEngine::builder().sqlite(&path).embedder(old.clone()).build().await?;
    /// memory.remember(&lin, "My sister plays the violin").await?;
    /// memory.drain(&lin, |_| ()).await?;
    /// drop(memory);
    ///
    /// // Filled in the background while the old vectors serve; then it cuts over.
    /// let builder = MemoryEngine::builder().sqlite(&path).embedder(new).replacing(old).background(false);
    /// let memory = builder.on_mismatch(Mismatch::Refill).build().await?;
    /// println!("{:?}", memory.admin().embedding_versions().await?);
    /// assert!(memory.admin().cut_over(0, |_| ()).await?);
    /// println!("dropped: {:?}", memory.admin().drop_second_embedding_version().await?);
    /// assert_eq!(memory.recall(&lin, "violin").await?.hits.len(), 1);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn embedding_versions(&self) -> Result<Option<EmbeddingVersions>> {
        let Some(store) = self.engine.indexed_store().vectors().embedding_versions() else { return Ok(None) };
        verb!("admin.embedding_versions", {}, store.embedding_versions()).map(Some)
    }

    /// Computes the missing vectors of this engine's embedder, and cuts over to them in one transaction once no job is
    /// queued and at most `max_missing` records are dead letters. Until then searches use the old vectors. Returns true
    /// if the vectors of this engine's embedder serve. The old vectors stay until
    /// [`drop_second_embedding_version`](Self::drop_second_embedding_version). The background worker does the same with
    /// `max_missing` 0.
    ///
    /// # Errors
    /// The error of the embedder or the store. Stored vectors stay, and the next call continues.
    pub async fn cut_over(&self, max_missing: u64, progress: impl FnMut(Progress)) -> Result<bool> {
        verb!("admin.cut_over", {}, self.engine.enrichment().worker().cut_over(max_missing, progress))
    }

    /// Removes the vectors that do not serve, of an unfinished embedding version or the old one, and returns their
    /// space; `None` if there were none.
    ///
    /// # Errors
    /// The store's error.
    pub async fn drop_second_embedding_version(&self) -> Result<Option<String>> {
        let Some(store) = self.engine.indexed_store().vectors().embedding_versions() else { return Ok(None) };
        verb!("admin.drop_second_embedding_version", {}, store.drop_second())
    }
}

/// Tombstones.
impl Admin {
    /// Returns at most `limit` tombstones in order of id, those after `after`.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let source = MemoryEngine::builder().in_memory().build().await?;
    /// let target = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let id = source.remember(&lin, "a secret").await?;
    /// source.forget(&lin, id).await?;
    /// let tombstones = source.admin().tombstones(&lin, None, 100).await?;
    /// assert_eq!(target.admin().import_tombstones(&lin, &tombstones).await?, 1); // blocked there, too
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        let work = self.engine.indexed_store().records().tombstones(scope, after, limit);
        verb!("admin.tombstones", scope, { limit = limit }, work)
    }

    /// Imports tombstones of another store: removes the records that they name and blocks them from now on. Returns the
    /// number of new tombstones.
    ///
    /// # Errors
    /// The stores' errors.
    pub async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        let work = self.engine.acting(self.engine.curation().import_tombstones(scope, tombstones));
        verb!("admin.import_tombstones", scope, { tombstones = tombstones.len() }, work)
    }
}

fn note_records(span: &Span, records: &u64) {
    span.record("records", *records);
}
