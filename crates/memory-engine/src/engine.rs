//! The engine: remember and recall.

use std::{collections::BTreeMap, fmt, sync, sync::Arc, time::Duration};

use memory_core::{
    Clock, Done, Embedding, Error, ErrorKind, Filter, Job, Order, Outcome, Page, PutMode, Record, RecordId,
    RecordStore, Result, ScanQuery, Scope, State, Stats, Terms, Write, Written,
};
use memory_embedder::{Embedder, Purpose};
use memory_keyword_store::{Analyzer, Clause, KeywordEntry, KeywordStore};
use memory_reranker::Reranker;
use memory_scene::ScenePolicy;
use memory_summarizer::is_said;
use memory_synonyms::SharedThesaurus;
use memory_vector_store::{VectorEntry, VectorStore};
use tokio::{runtime::Handle, sync::Notify};

use crate::{
    Builder, Digest, Enhanced, Enhancement, EntityGraph, Explanation, Recall, RecallOptions, RecallQuery, Turn,
    background::{self, indexed_text},
    dates, enhance,
    entity_graph::GraphParts,
    lag::Lags,
    pipeline,
    spaces::{Space, Spaces},
};

/// How far ahead of the clock a record may have occurred: clocks and zones differ, but not by more than a day.
const FUTURE: Duration = Duration::from_secs(24 * 60 * 60);
const PAGE: usize = 500;
/// How often a message is written anew when somebody else writes it at the same time.
const TRIES: usize = 64;
/// From how many bytes on texts are long.
const LONG: usize = 16 << 10;

/// Long-term memory. Cloning it is cheap and gives another handle on the same one.
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
    pub(crate) keywords: Arc<dyn KeywordStore>,
    pub(crate) vectors: Arc<dyn VectorStore>,
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
        let inner = Inner { parts, wake, working, lags: Lags::default() };
        let engine = Self { inner: Arc::new(inner) };
        if let Some(runtime) = background {
            runtime.spawn(background::run(Weak(Arc::downgrade(&engine.inner)), Arc::clone(&engine.inner.wake)));
        }
        engine
    }

    /// Remembers one thing at the address `scope`, and gives its id.
    ///
    /// When it returns, the record is durable and found by its words; its vector follows in the background. A turn whose
    /// id is there already takes the old one's place; one that says the same again, as when a client sends it twice, keeps
    /// what was found out about it meanwhile, and does not bring back what was [taken back](Self::retract).
    ///
    /// # Errors
    /// `InvalidInput` for an empty text and whatever else [`Record::validate`] refuses, or a time more than a day ahead;
    /// `Conflict` when a record of this id was forgotten before, lives at another address, or is written by others without end;
    /// `Unavailable` when the store cannot be written.
    pub async fn remember(&self, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        self.remember_without(scope, turn.into(), &[]).await
    }

    /// As [`remember`](Self::remember), and leaves out some of what the background would make of it.
    pub(crate) async fn remember_without(&self, scope: &Scope, turn: Turn, left_out: &[Job]) -> Result<RecordId> {
        let named = turn.is_named();
        let record = turn.into_record(scope, self.clock());
        let mut tries = if named { TRIES } else { 0 };
        let written = loop {
            let old = if named { self.get(scope, record.id).await? } else { None };
            let (record, mode) = match old {
                Some(old) if old.content_hash() == record.content_hash() => {
                    if old.state == State::Revoked {
                        return Ok(old.id);
                    }
                    (found_out(record.clone(), &old), PutMode::Update { revision: old.revision })
                }
                Some(old) => (record.clone(), PutMode::Update { revision: old.revision }),
                None => (record.clone(), PutMode::Create),
            };
            // An unnamed turn is nobody else's. Of a named one, what was read is what is replaced.
            let mode = if named { mode } else { PutMode::Upsert };
            let mut jobs = self.jobs_for(&record);
            jobs.retain(|job| !left_out.contains(job));
            match self.write(scope, vec![Write { jobs, ..Write::new(record, mode) }]).await {
                Err(error) if tries > 0 && matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    tries -= 1
                }
                written => break written?,
            }
        };
        match written.first() {
            Some(Written { id, outcome: Outcome::Created | Outcome::Updated | Outcome::Unchanged, .. }) => Ok(*id),
            Some(Written { id, outcome: Outcome::Barred(_), .. }) => {
                Err(Error::new(ErrorKind::Conflict, "remember", format!("record {id} was forgotten and stays away")))
            }
            None => Err(Error::new(ErrorKind::Internal, "remember", "the store gave no answer for the record")),
        }
    }

    /// Stores whole records within `scope`, all or none, and says for each what became of it: for imports, and for
    /// callers who fill in every field.
    ///
    /// # Errors
    /// As [`RecordStore::put`], and `InvalidInput` for a time more than a day ahead.
    pub async fn store(&self, scope: &Scope, records: Vec<Record>, mode: PutMode) -> Result<Vec<Written>> {
        let write = |record: Record| Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// As [`store`](Self::store), for callers who have the records' vectors already: made by the engine's embedder, or by
    /// whatever else makes vectors of its space. On SQLite they are in the same transaction; when this returns, the records
    /// are found by their vectors, too. While an embedder is [being replaced](Builder::replacing) they are made in the
    /// background like all others.
    ///
    /// # Errors
    /// As [`store`](Self::store), and `DimensionMismatch` for a vector of another space.
    pub async fn store_embedded(
        &self,
        scope: &Scope,
        records: Vec<(Record, Embedding)>,
        mode: PutMode,
    ) -> Result<Vec<Written>> {
        let space = self.embedder().space();
        records.iter().try_for_each(|(_, embedding)| space.check("store", embedding))?;
        let alone = self.spaces().is_alone();
        let write = |(record, embedding): (Record, Embedding)| Write {
            jobs: self.jobs_for(&record),
            embedding: Some(embedding).filter(|_| alone),
            ..Write::new(record, mode)
        };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// Writes records with their terms, and has the background do the rest.
    pub(crate) async fn write(&self, scope: &Scope, mut writes: Vec<Write>) -> Result<Vec<Written>> {
        writes.iter().try_for_each(|write| self.check(&write.record))?;
        let shared: Vec<Arc<Record>> = writes.iter().map(|write| Arc::new(write.record.clone())).collect();
        let terms = self.analyze_records(shared.clone()).await?;
        let entries: Vec<(Arc<Record>, Terms)> = shared.iter().cloned().zip(terms.clone()).collect();
        let embeddings: Vec<Option<Embedding>> = writes.iter().map(|write| write.embedding.clone()).collect();
        for (write, terms) in writes.iter_mut().zip(terms) {
            write.terms = Some(terms);
        }
        let written = self.records().put(scope, writes).await?;
        self.index_keywords(scope, entries, &written).await?;
        self.index_embeddings(scope, shared, embeddings, &written).await?;
        if written.iter().any(|w| !w.pending.is_empty() || !w.withdrawn.is_empty()) {
            self.wake();
        }
        Ok(written)
    }

    /// Refuses a record that [`store`](Self::store) would refuse for itself: for callers who want to know of each.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], and for a time more than a day ahead of the engine's clock.
    pub fn check(&self, record: &Record) -> Result<()> {
        record.validate()?;
        if record.occurred_at <= self.clock().now().after(FUTURE) {
            return Ok(());
        }
        let message = format!("it occurs at {}, which lies in the future; check year and zone", record.occurred_at);
        Err(Error::invalid("record", message))
    }

    /// Brings the keyword store up to date where the record store does not keep it in the same transaction.
    async fn index_keywords(
        &self,
        scope: &Scope,
        entries: Vec<(Arc<Record>, Terms)>,
        written: &[Written],
    ) -> Result<()> {
        let inactive = |r: &Record, w: &Written| w.outcome == Outcome::Updated && !r.is_indexed();
        let mut gone: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for ((record, _), written) in entries.iter().zip(written) {
            let own = inactive(record, written).then_some(written.id);
            let all = own.into_iter().chain(written.withdrawn.iter().copied());
            gone.entry(record.scope.namespace()).or_default().extend(all);
        }
        for (user, gone) in gone.iter().filter(|(_, gone)| !gone.is_empty()) {
            self.unindex(user, gone).await?;
        }
        let pending = entries.into_iter().zip(written).filter(|(_, w)| w.pending.contains(&Job::Keywords));
        let (entries, done): (Vec<_>, Vec<_>) = pending
            .map(|((record, terms), written)| {
                let (id, scope) = (record.id, record.scope.clone());
                let done = Done { id, scope, job: Job::Keywords, revision: written.revision, ticket: None };
                (KeywordEntry { record, terms }, done)
            })
            .unzip();
        if !entries.is_empty() {
            self.keywords().upsert(scope, &entries).await?;
            self.finish(&done).await?;
        }
        Ok(())
    }

    /// Brings the vector store up to date where the record store does not keep it in the same transaction.
    async fn index_embeddings(
        &self,
        scope: &Scope,
        records: Vec<Arc<Record>>,
        embeddings: Vec<Option<Embedding>>,
        written: &[Written],
    ) -> Result<()> {
        let pending = records.into_iter().zip(embeddings).zip(written);
        let (entries, done): (Vec<_>, Vec<_>) = pending
            .filter(|(_, written)| written.pending.contains(&Job::Embedding))
            .filter_map(|((record, embedding), written)| {
                let mut record = Record::clone(&record);
                // A store that keeps its records beside its vectors takes none of a record as it was before.
                record.revision = written.revision;
                let (id, scope, revision) = (record.id, record.scope.clone(), record.revision);
                let done = Done { id, scope, job: Job::Embedding, revision, ticket: None };
                Some((VectorEntry { record: Arc::new(record), embedding: embedding? }, done))
            })
            .unzip();
        if entries.is_empty() || !self.makes_what_serves().await? {
            return Ok(());
        }
        match self.vectors().upsert(scope, &entries).await {
            Ok(()) => self.finish(&done).await,
            // Others serve since just now: these wait for whoever makes those.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Whether the vectors of this engine's embedder are those that searches go by: others wait for whoever makes those.
    pub(crate) async fn makes_what_serves(&self) -> Result<bool> {
        match self.spaces().working_on(Job::Embedding).await {
            Ok(space) => Ok(space.is_some_and(|space| space.embedder.space() == self.embedder().space())),
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Takes what was done off the backlog, and out of the indexes again where its record has been deleted or taken back
    /// meanwhile: what is gone does not come back by us.
    pub(crate) async fn finish(&self, done: &[Done]) -> Result<()> {
        let current = self.records().acknowledge(done).await?;
        for (done, _) in done.iter().zip(current).filter(|(_, current)| !current) {
            self.unindex(&done.scope, &[done.id]).await?;
        }
        Ok(())
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

    pub(crate) fn records(&self) -> &Arc<dyn RecordStore> {
        &self.inner.parts.stores.records
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
    pub fn clock(&self) -> &dyn Clock {
        &self.inner.parts.clock
    }

    pub(crate) fn working(&self) -> &tokio::sync::Mutex<()> {
        &self.inner.working
    }

    pub(crate) fn lags(&self) -> &Lags {
        &self.inner.lags
    }

    /// Analyzes off the runtime: a long text or the first use of the dictionary would hold up other tasks.
    pub(crate) async fn analyze_records(&self, records: Vec<Arc<Record>>) -> Result<Vec<Terms>> {
        let analyzer = Arc::clone(&self.inner.parts.analyzer);
        let analyze = move |record: &Arc<Record>| {
            let mut terms = analyzer.document(&indexed_text(record));
            dates::add_to(&mut terms, record);
            terms
        };
        off_runtime("analyze", move || records.iter().map(analyze).collect()).await
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
        off_runtime("analyze", move || analyzer.query(&text)).await
    }
}

/// A record that says what `old` says, with what was found out about that one meanwhile.
fn found_out(mut record: Record, old: &Record) -> Record {
    record.topic = record.topic.or_else(|| old.topic.clone());
    record.emotion = record.emotion.or_else(|| old.emotion.clone());
    if record.entities.is_empty() {
        record.entities.clone_from(&old.entities);
    }
    record
}

pub(crate) async fn off_runtime<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let failed = |e| Error::new(ErrorKind::Internal, operation, "the background thread stopped").with_source(e);
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
