//! The entry points of recall.

use memory_engine_core::{RecordId, Result, Scope};

use crate::{
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
}

impl RecallPipeline {
    /// Combines the parts.
    pub fn new(parts: RecallParts) -> Self {
        Self { parts }
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
        self.parts.store.check_open("recall")?;
        recall(&self.parts, scope, query).await
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
        self.parts.store.check_open("recall")?;
        EnhancedRun::new(&self.parts, scope, query, enhancement).recall().await
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
