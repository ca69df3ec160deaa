//! The entry points of recall.

use std::{fmt, ops::Deref, sync::Arc};

use memory_engine_context::MemoryBlock;
use memory_engine_core::{Filter, Page, Record, RecordId, Result, ScanQuery, Scope, observe::count_recall};
use memory_engine_indexing::verb;
use tracing::{Span, field::Empty};

use crate::{
    degraded_log::{DegradedLog, DegradedRecall},
    enhance::{EnhancedRecall, EnhancedRun, Enhancement},
    explain,
    explanation::Explanation,
    graph_facts::{GraphFacts, GraphFactsQuery, facts},
    hit::Recall,
    parts::RecallParts,
    query::RecallQuery,
    read_scope::ReadScope,
    recall::recall,
    updates::{Update, updates},
    warm_up::{WarmUp, warm_up},
};

/// Answers queries: retrieve, fuse, rerank, select, under one deadline.
#[derive(Debug)]
pub struct RecallPipeline {
    parts: RecallParts,
    degraded_log: DegradedLog,
}

impl RecallPipeline {
    /// Combines the parts.
    pub fn new(parts: RecallParts) -> Self {
        Self { parts, degraded_log: DegradedLog::default() }
    }

    /// The parts of this pipeline.
    pub fn parts(&self) -> &RecallParts {
        &self.parts
    }

    /// Returns the memories most relevant to the query, visible from `scope`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter. If no retriever answers: `Timeout` if one of them was
    /// late, otherwise the error of one of them. If only one is late or fails, [`Recall::degraded`] names it.
    pub async fn recall(&self, scope: &Scope, query: &RecallQuery) -> Result<Recall> {
        let work = async {
            let outcome = match self.parts.store.check_open("recall") {
                Ok(()) => recall(&self.parts, scope, query).await,
                Err(closed) => Err(closed),
            };
            self.degraded_log.note(self.parts.store.clock().as_ref(), scope, &query.text, outcome.as_ref());
            outcome
        };
        let limit = query.limit.unwrap_or_else(|| query.options.unwrap_or(self.parts.options).limit);
        verb!("recall", scope, { limit = limit, hits = Empty, relevant = Empty, degraded = Empty }, work, note_recall)
    }

    /// As [`recall`](Self::recall). If nothing relevant is found, asks again with the dialogue before the query, and
    /// then as a model rewrites it.
    ///
    /// # Errors
    /// As [`recall`](Self::recall). A model that fails is named in [`Recall::degraded`].
    pub async fn recall_enhanced(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        enhancement: &Enhancement,
    ) -> Result<EnhancedRecall> {
        let work = async {
            let outcome = match self.parts.store.check_open("recall") {
                Ok(()) => EnhancedRun::new(&self.parts, scope, query, enhancement).recall().await,
                Err(closed) => Err(closed),
            };
            let recall = outcome.as_ref().map(|enhanced| &enhanced.recall);
            self.degraded_log.note(self.parts.store.clock().as_ref(), scope, &query.text, recall);
            outcome
        };
        let note = |span: &Span, enhanced: &EnhancedRecall| note_recall(span, &enhanced.recall);
        verb!("recall_enhanced", scope, { hits = Empty, relevant = Empty, degraded = Empty }, work, note)
    }

    /// Returns a page of records as a branch sees them; for any other scope those within it.
    ///
    /// # Errors
    /// The store's error.
    pub async fn timeline(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        let store = &self.parts.store;
        let work = async { ReadScope::resolve(store, scope).await?.scan(store, query).await };
        let note = |span: &Span, page: &Page| _ = span.record("records", page.records.len());
        verb!("timeline", scope, { limit = query.limit, records = Empty }, work, note)
    }

    /// Returns at most `limit` records that match `filter` as a branch sees them, the latest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn newest(&self, scope: &Scope, filter: Filter, limit: usize) -> Result<Vec<Record>> {
        Ok(self.timeline(scope, &ScanQuery::newest(limit).with_filter(filter)).await?.records)
    }

    /// Returns at most `limit` recalls within `scope` in which a stage failed or was late, latest first.
    pub fn degraded_recalls(&self, scope: &Scope, limit: usize) -> Vec<DegradedRecall> {
        self.degraded_log.latest(scope, limit)
    }

    /// Returns a text block for memories in the zone and the language of this pipeline.
    pub fn memory_block(&self) -> MemoryBlock {
        let locale = &self.parts.locale;
        let block = locale.language.map_or_else(MemoryBlock::default, MemoryBlock::in_language);
        block.with_zone(locale.zone.clone())
    }

    /// Explains the place of a record in the result of a query, or its absence.
    ///
    /// # Errors
    /// As [`recall`](Self::recall).
    pub async fn explain(&self, scope: &Scope, query: &RecallQuery, id: RecordId) -> Result<Explanation> {
        self.parts.store.check_open("explain")?;
        explain::explain(&self.parts, scope, query, id).await
    }

    /// Returns entities and relations with the latest record that states each.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter or too many hops; the stores' errors.
    pub async fn facts(&self, scope: &Scope, query: &GraphFactsQuery) -> Result<GraphFacts> {
        let scope = ReadScope::resolve(&self.parts.store, scope).await?;
        facts(&self.parts.store, &scope, query).await
    }

    /// Returns the messages among these that state what does not hold any more, each with what holds now.
    ///
    /// # Errors
    /// The store's error.
    pub async fn updates(&self, scope: &Scope, messages: &[RecordId]) -> Result<Vec<Update>> {
        let scope = ReadScope::resolve(&self.parts.store, scope).await?;
        updates(&self.parts.store, &scope, messages).await
    }

    /// Loads what the first recall would load, without its deadline: the dictionaries of the analyzer and the indexes
    /// of the stores. Tries the embedder and the reranker, so that a model that starts late is ready.
    ///
    /// # Errors
    /// The stores' errors. A model that fails is named in [`WarmUp::degraded`].
    pub async fn warm_up(&self) -> Result<WarmUp> {
        self.parts.store.check_open("warm up")?;
        warm_up(&self.parts).await
    }
}

impl AsRef<Self> for RecallPipeline {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// The pipeline of an engine, which it keeps alive.
#[derive(Clone)]
pub(crate) struct SharedPipeline(Arc<dyn AsRef<RecallPipeline> + Send + Sync>);

impl SharedPipeline {
    pub(crate) fn of(engine: impl AsRef<RecallPipeline> + Send + Sync + 'static) -> Self {
        Self(Arc::new(engine))
    }
}

impl Deref for SharedPipeline {
    type Target = RecallPipeline;

    fn deref(&self) -> &RecallPipeline {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for SharedPipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPipeline").finish_non_exhaustive()
    }
}

/// Records the result of a recall in its span and in the metrics.
fn note_recall(span: &Span, recall: &Recall) {
    count_recall(recall.hits.len(), recall.degraded.iter().map(|degraded| degraded.stage));
    if span.is_disabled() {
        return;
    }
    span.record("hits", recall.hits.len());
    span.record("relevant", recall.relevant().count());
    let stages: Vec<&str> = recall.degraded.iter().map(|degraded| degraded.stage).collect();
    span.record("degraded", stages.join(","));
}
