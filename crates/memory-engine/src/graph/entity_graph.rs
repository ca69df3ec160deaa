//! The graph of an engine: entities and relations, with citations.

use std::sync::Arc;

use memory_engine_core::{Record, Result, Scope};
use memory_engine_enrichment::GraphIndexReport;
use memory_engine_graph::{GraphExtractor, GraphStore};
use memory_engine_indexing::verb;
use memory_engine_recall::{GraphFacts, GraphFactsQuery};

use crate::{builder::Builder, engine::MemoryEngine};

/// The entities and relations in an engine's memories. [`MemoryEngine::graph`] returns it.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{MemoryEngine, Scope, Turn, graph::{GraphFactsQuery, RuleExtractor}};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let extractor = Arc::new(RuleExtractor::default());
/// let memory = MemoryEngine::builder().in_memory().graph(extractor).build().await?;
/// let lin = Scope::user("lin")?;
/// let turn = Turn::user("沈砚在青石村遇见了林晓月，沈砚救了林晓月。").with_message_id("m7");
/// memory.remember(&lin, turn).await?;
/// memory.drain(&lin, |_| ()).await?;
///
/// let facts = memory.graph().facts(&lin, &GraphFactsQuery::about(["沈砚在哪？"])).await?;
/// for relation in &facts.relations {
///     println!("{} — {} → {}", relation.source, relation.relation, relation.target);
/// }
/// assert!(facts.entities.iter().any(|entity| entity.name == "青石村"));
/// assert_eq!(facts.relations[0].citation.message_id.as_deref(), Some("m7"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct EntityGraph {
    pub(crate) engine: MemoryEngine,
}

impl EntityGraph {
    /// Returns the store of the graph.
    pub fn store(&self) -> &Arc<dyn GraphStore> {
        self.engine.indexed_store().graph()
    }

    /// Returns the extractor, if the engine has one.
    pub fn extractor(&self) -> Option<&Arc<dyn GraphExtractor>> {
        self.engine.enrichment().graph().extractor()
    }

    /// Extracts entities and relations from records within `scope`, and replaces those that were extracted from them
    /// before. Records that are not active are skipped. The report names the records whose extraction failed.
    ///
    /// # Errors
    /// `Unsupported` without an extractor; `Unauthorized` for a record outside `scope`; the store's error.
    pub async fn index(&self, scope: &Scope, records: &[Record]) -> Result<GraphIndexReport> {
        let work = self.engine.enrichment().graph().index(scope, records);
        verb!("graph.index", scope, { records = records.len() }, work)
    }

    /// Extracts entities and relations from every active record within `scope`, oldest first. After each page,
    /// `progress` gets the number of records that are done.
    ///
    /// # Errors
    /// As [`index`](Self::index). Extractions that are done stay.
    pub async fn rebuild(&self, scope: &Scope, progress: impl FnMut(u64)) -> Result<GraphIndexReport> {
        verb!("graph.rebuild", scope, {}, self.engine.enrichment().graph().rebuild(scope, progress))
    }

    /// Returns the entities that some texts name, the entities related to them, and the relations between them, for the
    /// sections of a prompt. Each has the latest record that states it.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter or too many hops; the stores' errors.
    pub async fn facts(&self, scope: &Scope, query: &GraphFactsQuery) -> Result<GraphFacts> {
        verb!("graph.facts", scope, {}, self.engine.recall_pipeline().facts(scope, query))
    }
}

impl Builder {
    /// Extracts entities and relations from records, and adds the graph retriever to recalls. Default: no graph.
    /// [`EntityGraph::index`](crate::graph::EntityGraph::index) extracts from records that are stored already.
    pub fn graph(mut self, extractor: impl GraphExtractor) -> Self {
        self.graph_extractor = Some(Arc::new(extractor));
        self
    }
}
