//! The engine: what it is made of, and what it is asked.

use std::{
    fmt,
    num::NonZero,
    sync::{
        self, Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::try_join_all;
use memory_engine_core::{
    Clock, Embedding, Error, ErrorKind, Filter, Job, JobQueue, Order, Page, Record, RecordId, RecordStore, Result,
    ScanQuery, Scope, Stats, Terms,
};
use memory_engine_embedder::{Embedder, Purpose};
use memory_engine_keyword_store::{Analyzer, Clause, KeywordStore};
use memory_engine_reranker::Reranker;
use memory_engine_scene::ScenePolicy;
use memory_engine_summarizer::is_said;
use memory_engine_synonyms::SharedThesaurus;
use memory_engine_vector_store::VectorStore;
use tokio::{runtime::Handle, sync::Notify};

use crate::{
    Builder, Digest, Enhanced, Enhancement, EntityGraph, Explanation, Recall, RecallOptions, RecallQuery,
    background::{self, indexed_text},
    dates, enhance,
    entity_graph::GraphParts,
    lag::Lags,
    pipeline,
    spaces::{Space, Spaces},
};

const PAGE: usize = 500;
/// Up to how many bytes a text is taken to words in less time than another thread takes to begin with it, once the
/// dictionary has been read.
const SHORT: usize = 1 << 10;
/// How many records are worth a thread.
const SHARE: usize = 64;

/// From how many bytes on texts are long.
const LONG: usize = 16 << 10;

/// Long-term memory. Cloning it is cheap and gives another handle on the same one.
///
/// ```
/// use memory_engine::{Filter, Field, MemoryEngine, PutMode, ScanQuery, Scope, Turn};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let monday = Scope::user("lin")?.with_session("monday")?;
/// let id = memory.remember(&monday, Turn::user("面试改到周五了").with_scene("daily")).await?;
/// memory.remember(&monday, Turn::assistant("Good luck on Friday!")).await?;
///
/// let found = memory.recall(&monday, "面试是哪天？").await?;
/// assert_eq!(found.hits[0].record.id, id);
/// let mut record = memory.get(&monday, id).await?.unwrap();
/// let said = ScanQuery::oldest(10).with_filter(Filter::eq(Field::Role, "user"));
/// assert_eq!(memory.scan(&monday, &said).await?.records.len(), 1);
///
/// record.importance = 0.9;
/// memory.store(&monday, vec![record], PutMode::Upsert).await?;
/// memory.drain(&monday, |_| ()).await?; // until every vector is there
/// assert_eq!(memory.stats(&monday).await?.records, 2);
/// assert_eq!(memory.recall(&Scope::user("mei")?, "面试").await?.hits.len(), 0); // another's memory
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
///
/// # Cancel safety
/// Dropping the future of any call leaves it undone, or lets its write finish unseen; never half of a record.
#[derive(Clone)]
pub struct MemoryEngine {
    inner: Arc<Inner>,
}

/// A handle that does not keep the engine alive.
#[derive(Debug, Clone)]
pub(crate) struct Weak(sync::Weak<Inner>);

impl Weak {
    pub(crate) fn upgrade(&self) -> Option<MemoryEngine> {
        self.0.upgrade().map(|inner| MemoryEngine { inner })
    }
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    wake: Arc<Notify>,
    working: tokio::sync::Mutex<()>,
    lags: Lags,
    /// Whether the analyzer has read what it goes by.
    has_analyzed: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) stores: Stores,
    pub(crate) graph: GraphParts,
    pub(crate) spaces: Spaces,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    pub(crate) analyzer: Arc<dyn Analyzer>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: RecallOptions,
    pub(crate) scene_policy: ScenePolicy,
    pub(crate) thesaurus: SharedThesaurus,
    pub(crate) digest: Digest,
}

#[derive(Debug)]
pub(crate) struct Stores {
    pub(crate) records: Arc<dyn RecordStore>,
    pub(crate) jobs: Arc<dyn JobQueue>,
    pub(crate) keywords: Arc<dyn KeywordStore>,
    pub(crate) vectors: Arc<dyn VectorStore>,
}

impl Stores {
    /// Whether terms and vectors may be kept elsewhere than records, so that they have to be handed over once more.
    pub(crate) fn are_apart(&self) -> bool {
        let records = Arc::as_ptr(&self.records);
        !std::ptr::addr_eq(records, Arc::as_ptr(&self.keywords))
            || !std::ptr::addr_eq(records, Arc::as_ptr(&self.vectors))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.wake.notify_one(); // so that the background task sees that it is alone
    }
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEngine").field("embedder", self.embedder().space()).finish_non_exhaustive()
    }
}

impl MemoryEngine {
    /// Puts an engine together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(parts: Parts, background: Option<Handle>) -> Self {
        let (wake, working) = (Arc::new(Notify::new()), tokio::sync::Mutex::new(()));
        let inner = Inner { parts, wake, working, lags: Lags::default(), has_analyzed: AtomicBool::new(false) };
        let engine = Self { inner: Arc::new(inner) };
        if let Some(runtime) = background {
            runtime.spawn(background::run(Weak(Arc::downgrade(&engine.inner)), Arc::clone(&engine.inner.wake)));
        }
        engine
    }

    /// What is worth knowing about a question, from everything within `scope`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty question or a senseless filter; the store's error when no arm works. When only one
    /// fails, the answer says so in [`Recall::degraded`].
    pub async fn recall(&self, scope: &Scope, query: impl Into<RecallQuery>) -> Result<Recall> {
        pipeline::recall(self, scope, &query.into()).await
    }

    /// As [`recall`](Self::recall), and when nothing [relevant](Recall::relevant) is found, again with the dialogue before
    /// the question, and then as a model rewrites it. Says which of these found what it gives.
    ///
    /// # Errors
    /// As [`recall`](Self::recall). A model that fails or breaks the contract is named in [`Recall::degraded`].
    pub async fn recall_enhanced(
        &self,
        scope: &Scope,
        query: impl Into<RecallQuery>,
        enhancement: &Enhancement,
    ) -> Result<Enhanced> {
        enhance::recall(self, scope, &query.into(), enhancement).await
    }

    /// Why a record is where it is in the answer to a question, or why it is not there.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, RecallQuery, Scope, Turn, Verdict};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let dragon = memory.remember(&lin, Turn::user("The dragon sleeps").with_scene("plot")).await?;
    ///
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("plot");
    /// let why = memory.explain(&lin, asked, dragon).await?;
    /// assert_eq!(why.verdict, Verdict::Hit { place: 1 });
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("meta");
    /// let why = memory.explain(&lin, asked, dragon).await?;
    /// println!("{}", why.verdict);
    /// assert!(why.hit.is_none());
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`recall`](Self::recall).
    pub async fn explain(&self, scope: &Scope, query: impl Into<RecallQuery>, id: RecordId) -> Result<Explanation> {
        pipeline::explain(self, scope, &query.into(), id).await
    }

    /// The record with this id, if it is within `scope`.
    pub async fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        Ok(self.records().get(scope, &[id]).await?.pop().flatten())
    }

    /// The records with these ids, in their order; `None` where there is none within `scope`.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.records().get(scope, ids).await
    }

    /// A page of records in their order of time.
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.records().scan(scope, query).await
    }

    /// All records that match, page by page, in the query's order.
    pub(crate) async fn scan_all(&self, scope: &Scope, filter: Filter, order: Order) -> Result<Vec<Record>> {
        let mut query = ScanQuery::oldest(PAGE).with_filter(filter);
        query.order = order;
        let mut all = Vec::new();
        loop {
            let page = self.scan(scope, &query).await?;
            all.extend(page.records);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Counts what is within `scope`.
    pub async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.records().stats(scope).await
    }

    /// How this engine recalls.
    pub fn options(&self) -> &RecallOptions {
        &self.inner.parts.options
    }

    /// What makes its vectors: the one that takes another's place, from the moment on when its vectors serve.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.spaces().serving().embedder
    }

    /// What judges its candidates, if anything does.
    pub fn reranker(&self) -> Option<&Arc<dyn Reranker>> {
        self.inner.parts.reranker.as_ref()
    }

    /// What a recall sees from each scene.
    pub fn scene_policy(&self) -> &ScenePolicy {
        &self.inner.parts.scene_policy
    }

    /// The synonyms that recalls go by. A change to its store shows within seconds, and at once after
    /// [`refresh`](SharedThesaurus::refresh).
    pub fn synonyms(&self) -> &SharedThesaurus {
        &self.inner.parts.thesaurus
    }

    /// What the memories say about entities and relations.
    pub fn graph(&self) -> EntityGraph {
        EntityGraph::new(self.clone())
    }

    pub(crate) fn graph_parts(&self) -> &GraphParts {
        &self.inner.parts.graph
    }

    pub(crate) fn stores(&self) -> &Stores {
        &self.inner.parts.stores
    }

    pub(crate) fn records(&self) -> &Arc<dyn RecordStore> {
        &self.inner.parts.stores.records
    }

    pub(crate) fn jobs(&self) -> &Arc<dyn JobQueue> {
        &self.inner.parts.stores.jobs
    }

    pub(crate) fn keywords(&self) -> &Arc<dyn KeywordStore> {
        &self.inner.parts.stores.keywords
    }

    /// The vectors that serve.
    pub(crate) fn vectors(&self) -> &Arc<dyn VectorStore> {
        &self.spaces().serving().vectors
    }

    pub(crate) fn spaces(&self) -> &Spaces {
        &self.inner.parts.spaces
    }

    /// What this engine does in the background beside indexing.
    pub(crate) fn further_jobs(&self) -> Vec<Job> {
        let graph = self.graph_parts().extractor.as_ref().map(|_| Job::Graph);
        graph.into_iter().chain(self.digest().jobs()).collect()
    }

    /// What the background is to do for a record beside indexing it.
    pub(crate) fn jobs_for(&self, record: &Record) -> Vec<Job> {
        if is_said(record) { self.further_jobs() } else { Vec::new() }
    }

    /// What the background makes of turns.
    pub(crate) fn digest(&self) -> &Digest {
        &self.inner.parts.digest
    }

    /// Tells the background that there is something to do.
    pub(crate) fn wake(&self) {
        self.inner.wake.notify_one();
    }

    /// How many records a job takes at once; one that embeds does it in this space.
    pub(crate) fn batch(&self, job: Job, space: Option<&Space>) -> usize {
        const BATCH: usize = 256;
        match job {
            Job::Embedding | Job::Reembedding => {
                BATCH.min(space.map_or(BATCH, |space| space.embedder.max_batch().max(1)))
            }
            Job::Keywords => BATCH,
            Job::Chunks => 32,
            // What a model may be asked about at once.
            Job::Metadata | Job::Facts | Job::Summary | Job::Profile => 16,
            // Each is a question of its own.
            Job::Graph => 1,
        }
    }

    /// Where it takes the time from.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.parts.clock
    }

    pub(crate) fn working(&self) -> &tokio::sync::Mutex<()> {
        &self.inner.working
    }

    pub(crate) fn lags(&self) -> &Lags {
        &self.inner.lags
    }

    /// The terms of the record of each of these. Analyzes off the runtime: many texts, a long one, or the first use of the
    /// dictionary would hold up other tasks.
    pub(crate) async fn analyze_records<T: Send + Sync + 'static>(
        &self,
        all: Arc<Vec<T>>,
        record: fn(&T) -> &Record,
    ) -> Result<Vec<Terms>> {
        let analyzer = Arc::clone(&self.inner.parts.analyzer);
        let analyze = move |one: &T| {
            let mut terms = analyzer.document(&indexed_text(record(one)));
            dates::add_to(&mut terms, record(one));
            terms
        };
        if let [one] = all.as_slice()
            && record(one).text.len() <= SHORT
            && self.inner.has_analyzed.load(Ordering::Relaxed)
        {
            return Ok(vec![analyze(one)]);
        }
        // Many are shared out among the cores.
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let share = all.len().div_ceil(cores).max(SHARE);
        let part = |start: usize| {
            let (all, analyze) = (Arc::clone(&all), analyze.clone());
            off_runtime("analyze", move || {
                let terms: Vec<Terms> = all[start..all.len().min(start + share)].iter().map(analyze).collect();
                // Whoever waits for the terms may want it back.
                drop(all);
                terms
            })
        };
        let terms = try_join_all((0..all.len()).step_by(share).map(part)).await?.into_iter().flatten().collect();
        self.inner.has_analyzed.store(true, Ordering::Relaxed);
        Ok(terms)
    }

    /// The terms of plain texts.
    pub(crate) async fn analyze_texts(&self, texts: Vec<String>) -> Result<Vec<Terms>> {
        let analyzer = Arc::clone(&self.inner.parts.analyzer);
        off_runtime("analyze", move || texts.iter().map(|text| analyzer.document(text)).collect()).await
    }

    /// Embeds in the space that serves.
    pub(crate) async fn embed(&self, texts: Vec<String>, purpose: Purpose) -> Result<Vec<Embedding>> {
        self.embed_in(self.spaces().serving(), texts, purpose).await
    }

    /// Embeds; long texts off the runtime, since an embedder that computes in the process may take long over them.
    pub(crate) async fn embed_in(&self, space: &Space, texts: Vec<String>, purpose: Purpose) -> Result<Vec<Embedding>> {
        let embedder = Arc::clone(&space.embedder);
        let long = texts.iter().map(String::len).sum::<usize>() > LONG;
        let embed = async move {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            embedder.embed(&texts, purpose).await
        };
        if !long {
            return embed.await;
        }
        let runtime = Handle::current();
        off_runtime("embed", move || runtime.block_on(embed)).await?
    }

    pub(crate) async fn analyze_query(&self, text: String) -> Result<Vec<Clause>> {
        let analyzer = Arc::clone(&self.inner.parts.analyzer);
        if text.len() <= SHORT && self.inner.has_analyzed.load(Ordering::Relaxed) {
            return Ok(analyzer.query(&text));
        }
        let clauses = off_runtime("analyze", move || analyzer.query(&text)).await?;
        self.inner.has_analyzed.store(true, Ordering::Relaxed);
        Ok(clauses)
    }
}

pub(crate) async fn off_runtime<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let failed = |e| Error::new(ErrorKind::Internal, operation, "the background thread stopped").with_source(e);
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
