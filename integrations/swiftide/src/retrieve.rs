//! Retrieving memories for a query.

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use memory_engine::{Filter, RecallQuery};
use swiftide_core::{
    Retrieve,
    querying::{
        Query,
        search_strategies::{CustomStrategy, HybridSearch, SearchFilter, SimilaritySingleEmbedding},
        states,
    },
};

use crate::{document::to_document, storage::EngineStorage};

/// Maximum number of documents of a query.
const MAX_DOCUMENTS: u64 = 1000;

/// A filter of the engine, for the search strategies of swiftide.
///
/// ```
/// use memory_engine::Filter;
/// use swiftide_core::querying::search_strategies::SimilaritySingleEmbedding;
/// use swiftide_memory_engine::EngineFilter;
///
/// let english = EngineFilter(Filter::meta("language", "en"));
/// let strategy = SimilaritySingleEmbedding::from_filter(english);
/// # let _ = strategy;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EngineFilter(pub Filter);

impl SearchFilter for EngineFilter {}

impl From<Filter> for EngineFilter {
    fn from(filter: Filter) -> Self {
        Self(filter)
    }
}

impl EngineStorage {
    async fn search(
        &self,
        query: Query<states::Pending>,
        top_k: u64,
        filter: Option<&EngineFilter>,
    ) -> Result<Query<states::Retrieved>> {
        ensure!(top_k <= MAX_DOCUMENTS, "top_k is {top_k}; at most {MAX_DOCUMENTS} documents can be retrieved");
        if top_k == 0 {
            return Ok(query.retrieved_documents(Vec::new()));
        }
        let mut recall = RecallQuery::new(text(&query)).with_limit(top_k as usize);
        if let Some(EngineFilter(filter)) = filter {
            recall = recall.with_filter(filter.clone());
        }
        self.recall(query, recall).await
    }

    async fn recall(&self, query: Query<states::Pending>, recall: RecallQuery) -> Result<Query<states::Retrieved>> {
        let recall = self.engine.recall(&self.scope, recall).await.context("cannot search the memories")?;
        let hits = recall.hits.iter().filter(|hit| hit.relevant || !self.only_relevant);
        Ok(query.retrieved_documents(hits.map(|hit| to_document(&hit.record)).collect()))
    }
}

/// Returns the query as transformations have left it. A query that was built without one has only the original.
fn text(query: &Query<states::Pending>) -> &str {
    match query.current().trim() {
        "" => query.original(),
        current => current,
    }
}

/// Returns `top_k` memories, found by keywords, vectors and relations. The embedding of the query is not used.
#[async_trait]
impl Retrieve<SimilaritySingleEmbedding> for EngineStorage {
    async fn retrieve(
        &self,
        search_strategy: &SimilaritySingleEmbedding,
        query: Query<states::Pending>,
    ) -> Result<Query<states::Retrieved>> {
        self.search(query, search_strategy.top_k(), None).await
    }
}

/// As without a filter, from the memories that match.
#[async_trait]
impl Retrieve<SimilaritySingleEmbedding<EngineFilter>> for EngineStorage {
    async fn retrieve(
        &self,
        search_strategy: &SimilaritySingleEmbedding<EngineFilter>,
        query: Query<states::Pending>,
    ) -> Result<Query<states::Retrieved>> {
        self.search(query, search_strategy.top_k(), search_strategy.filter().as_ref()).await
    }
}

/// Runs the similarity search, which is hybrid already. Ignores `top_n` and the names of vectors.
#[async_trait]
impl Retrieve<HybridSearch> for EngineStorage {
    async fn retrieve(
        &self,
        search_strategy: &HybridSearch,
        query: Query<states::Pending>,
    ) -> Result<Query<states::Retrieved>> {
        self.search(query, search_strategy.top_k(), None).await
    }
}

/// As without a filter, from the memories that match.
#[async_trait]
impl Retrieve<HybridSearch<EngineFilter>> for EngineStorage {
    async fn retrieve(
        &self,
        search_strategy: &HybridSearch<EngineFilter>,
        query: Query<states::Pending>,
    ) -> Result<Query<states::Retrieved>> {
        self.search(query, search_strategy.top_k(), search_strategy.filter()).await
    }
}

/// Runs the query of the engine that the strategy builds, with all its options.
#[async_trait]
impl Retrieve<CustomStrategy<RecallQuery>> for EngineStorage {
    async fn retrieve(
        &self,
        search_strategy: &CustomStrategy<RecallQuery>,
        query: Query<states::Pending>,
    ) -> Result<Query<states::Retrieved>> {
        let recall = search_strategy.build_query(&query).await?;
        self.recall(query, recall).await
    }
}
