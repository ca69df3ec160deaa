//! The handle on a memory. Its methods are in `verbs` and `context`, and its handles by subject in `handles`.

use std::{fmt, sync::Arc};

use memory_engine_core::audit::{Actor, AuditContext, in_context};
use memory_engine_curation::Curation;
use memory_engine_databases::TransferEnd;
use memory_engine_enrichment::Enrichment;
use memory_engine_indexing::IndexedStore;
use memory_engine_recall::RecallPipeline;

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
    pub(crate) recall: RecallPipeline,
    pub(crate) curation: Curation,
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEngine").field("embedder", self.settings().embedder().space()).finish_non_exhaustive()
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

    /// Returns the actor of this handle, or otherwise that of the running task.
    pub(crate) fn actor(&self) -> Actor {
        let actor = self.actor.clone().or_else(|| AuditContext::current().actor().cloned());
        actor.map(Arc::unwrap_or_clone).unwrap_or_default()
    }

    pub(crate) fn indexed_store(&self) -> &Arc<IndexedStore> {
        self.parts.curation.indexed_store()
    }

    pub(crate) fn recall_pipeline(&self) -> &RecallPipeline {
        &self.parts.recall
    }

    pub(crate) fn enrichment(&self) -> &Enrichment {
        self.parts.curation.enrichment()
    }

    pub(crate) fn curation(&self) -> &Curation {
        &self.parts.curation
    }
}

/// Reading memories, for what is made of an engine: injections and contexts.
impl AsRef<RecallPipeline> for MemoryEngine {
    fn as_ref(&self) -> &RecallPipeline {
        self.recall_pipeline()
    }
}

impl TransferEnd for MemoryEngine {
    fn curation(&self) -> &Curation {
        self.curation()
    }

    fn actor(&self) -> Option<&Arc<Actor>> {
        self.actor.as_ref()
    }
}
