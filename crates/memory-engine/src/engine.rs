//! The handle on a memory. Its methods are in `verbs`, `context` and `admin`.

use std::{fmt, sync::Arc};

use jiff::tz::TimeZone;
use memory_engine_core::{
    Clock, Language, Locale, RecordStore, ReviewPolicy,
    audit::{Actor, AuditAction, AuditContext, in_context},
};
use memory_engine_embedder::Embedder;
use memory_engine_enrichment::Enrichment;
use memory_engine_indexing::IndexedStore;
#[cfg(feature = "llm")]
use memory_engine_recall::Rewrite;
use memory_engine_recall::{RecallOptions, RecallPipeline};
use memory_engine_scene::ScenePolicy;
use memory_engine_synonyms::SharedThesaurus;
use memory_engine_vector_store::VectorStore;

use crate::admin::degraded_log::DegradedLog;

/// A handle on long-term memory. Cloning it is cheap and gives another handle on the same memory.
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
/// Dropping the future of a call leaves it undone, or lets its write finish unobserved. No record is written in part.
#[derive(Clone)]
pub struct MemoryEngine {
    parts: Arc<EngineParts>,
    /// The actor of this handle in the audit log.
    actor: Option<Arc<Actor>>,
}

/// The subsystems of an engine.
#[derive(Debug)]
pub(crate) struct EngineParts {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) recall: RecallPipeline,
    pub(crate) enrichment: Enrichment,
    pub(crate) locale: Locale,
    pub(crate) review: ReviewPolicy,
    pub(crate) degraded_log: DegradedLog,
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEngine").field("embedder", self.embedder().space()).finish_non_exhaustive()
    }
}

impl MemoryEngine {
    pub(crate) fn new(parts: EngineParts) -> Self {
        Self { parts: Arc::new(parts), actor: None }
    }

    /// Returns a handle on the same memory whose changes are logged as those of this actor, if
    /// [auditing](Self::audit) is on.
    #[must_use]
    pub fn with_actor(&self, actor: Actor) -> Self {
        Self { parts: Arc::clone(&self.parts), actor: Some(Arc::new(actor)) }
    }

    /// Runs the work of a verb as the actor of this handle.
    pub(crate) async fn acting<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.actor {
            Some(actor) => in_context(AuditContext::current().with_actor(Arc::clone(actor)), Box::pin(work)).await,
            None => work.await,
        }
    }

    /// Runs work that writes the records of another store. `operation` names it in the audit log.
    pub(crate) async fn importing<T>(&self, operation: &'static str, work: impl Future<Output = T>) -> T {
        let context = AuditContext::current().with_actor(Arc::new(self.actor()));
        in_context(context.with_verb(AuditAction::Import, operation), Box::pin(work)).await
    }

    /// Returns the actor of this handle, or otherwise that of the running task.
    pub(crate) fn actor(&self) -> Actor {
        let actor = self.actor.clone().or_else(|| AuditContext::current().actor().cloned());
        actor.map(Arc::unwrap_or_clone).unwrap_or_default()
    }

    /// Returns the embedder whose vectors are searched. An embedder that replaces another one is returned after the
    /// cut-over.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.parts.store.embedding().serving().embedder
    }

    /// Returns the synonyms of query terms. A change to their store takes effect within seconds, and at once after
    /// [`refresh`](SharedThesaurus::refresh).
    pub fn synonyms(&self) -> &SharedThesaurus {
        &self.parts.recall.parts().thesaurus
    }

    /// Returns the clock of all timestamps.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.parts.store.clock()
    }

    /// Returns the time zone of days and dates, which a query or an option may override. Default: UTC.
    pub fn zone(&self) -> &TimeZone {
        &self.parts.locale.zone
    }

    /// Returns the language of summaries, profiles, injections and prompts; `None` for the language of each text.
    pub fn language(&self) -> Option<Language> {
        self.parts.locale.language
    }

    /// Returns the options of recalls whose query has none of its own.
    pub fn recall_options(&self) -> &RecallOptions {
        self.options()
    }

    /// Returns the rewrite of queries that find nothing. Default: none.
    #[cfg(feature = "llm")]
    pub fn rewrite(&self) -> Option<&Rewrite> {
        self.parts.recall.parts().rewrite.as_ref()
    }

    pub(crate) fn indexed_store(&self) -> &Arc<IndexedStore> {
        &self.parts.store
    }

    pub(crate) fn options(&self) -> &RecallOptions {
        &self.parts.recall.parts().options
    }

    pub(crate) fn scene_policy(&self) -> &ScenePolicy {
        &self.parts.recall.parts().scene_policy
    }

    pub(crate) fn policy_of_reviews(&self) -> &ReviewPolicy {
        &self.parts.review
    }

    pub(crate) fn recall_pipeline(&self) -> &RecallPipeline {
        &self.parts.recall
    }

    pub(crate) fn degraded_log(&self) -> &DegradedLog {
        &self.parts.degraded_log
    }

    pub(crate) fn enrichment(&self) -> &Enrichment {
        &self.parts.enrichment
    }

    pub(crate) fn record_store(&self) -> &Arc<dyn RecordStore> {
        self.parts.store.records()
    }

    pub(crate) fn vectors(&self) -> &Arc<dyn VectorStore> {
        self.parts.store.vectors()
    }
}
