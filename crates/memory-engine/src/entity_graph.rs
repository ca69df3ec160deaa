//! What memories say about entities and relations: keeping it, and giving it with citations.

mod cited;

use std::sync::Arc;

use memory_engine_core::{Error, ErrorKind, Field, Filter, Record, RecordId, Result, ScanQuery, Scope, State};
use memory_engine_graph::{GraphEntry, GraphExtractor, GraphStore};

use crate::MemoryEngine;
pub(crate) use cited::seeds;
pub use cited::{Citation, FactQuery, GraphFacts, KeyEntity, KeyRelation};

/// How many records are read at once when a graph is made anew.
const PAGE: usize = 200;

/// Where the graph is, and what makes it.
#[derive(Debug)]
pub(crate) struct GraphParts {
    pub(crate) store: Arc<dyn GraphStore>,
    /// Without one nothing is extracted, and recalls do not ask the graph.
    pub(crate) extractor: Option<Arc<dyn GraphExtractor>>,
}

/// What an engine's memories say about entities and relations.
///
/// ```
/// use std::sync::Arc;
/// use memory_engine::{FactQuery, MemoryEngine, RuleExtractor, Scope, Turn};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let extractor = Arc::new(RuleExtractor::default());
/// let memory = MemoryEngine::builder().in_memory().graph(extractor).build().await?;
/// let lin = Scope::user("lin")?;
/// let turn = Turn::user("沈砚在青石村遇见了林晓月，沈砚救了林晓月。").with_message_id("m7");
/// memory.remember(&lin, turn).await?;
/// memory.drain(&lin, |_| ()).await?;
///
/// let facts = memory.graph().facts(&lin, &FactQuery::about(["沈砚在哪？"])).await?;
/// for relation in &facts.relations {
///     println!("{} — {} → {}", relation.source, relation.relation, relation.target);
/// }
/// assert!(facts.entities.iter().any(|entity| entity.name == "青石村"));
/// assert_eq!(facts.relations[0].citation.message_id.as_deref(), Some("m7"));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct EntityGraph {
    engine: MemoryEngine,
}

/// What became of records that were to be read for entities and relations.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Extracted {
    /// How many were read.
    pub records: u64,
    /// Those that could not be, and why. Each is still found by its words and its vector.
    pub failed: Vec<(RecordId, Error)>,
}

impl EntityGraph {
    pub(crate) fn new(engine: MemoryEngine) -> Self {
        Self { engine }
    }

    /// Where it is kept.
    pub fn store(&self) -> &Arc<dyn GraphStore> {
        &self.engine.graph_parts().store
    }

    /// What reads records, if anything does.
    pub fn extractor(&self) -> Option<&Arc<dyn GraphExtractor>> {
        self.engine.graph_parts().extractor.as_ref()
    }

    /// Reads records within `scope`, as they are stored now, and keeps what they say in place of what they said before. A record that is not active says
    /// nothing. One that cannot be read is named, and keeps nobody else from being read.
    ///
    /// # Errors
    /// `Unsupported` without an extractor; `Unauthorized` for a record outside `scope`; what the store reports.
    pub async fn index(&self, scope: &Scope, records: &[Record]) -> Result<Extracted> {
        let without = || Error::new(ErrorKind::Unsupported, "graph", "the engine was built without `Builder::graph`");
        let extractor = self.extractor().ok_or_else(without)?;
        records.iter().try_for_each(|record| scope.authorize("graph", &record.scope))?;
        let (mut done, mut entries) = (Extracted::default(), Vec::new());
        for record in records.iter().filter(|record| record.state == State::Active) {
            match extractor.extract(record).await {
                Ok(extraction) => entries.push(GraphEntry::new(record.clone(), extraction)),
                Err(error) => done.failed.push((record.id, error)),
            }
        }
        self.store().upsert(scope, &entries).await?;
        done.records = entries.len() as u64;
        self.withdraw_deleted(scope, &entries).await?;
        Ok(done)
    }

    /// What was deleted while it was read does not come back by us.
    async fn withdraw_deleted(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        let ids: Vec<RecordId> = entries.iter().map(|entry| entry.record.id).collect();
        let now = self.engine.get_all(scope, &ids).await?;
        let gone = |record: &Option<Record>| record.as_ref().is_none_or(|record| record.state != State::Active);
        let gone: Vec<RecordId> = ids.into_iter().zip(&now).filter(|(_, now)| gone(now)).map(|(id, _)| id).collect();
        if gone.is_empty() { Ok(()) } else { self.store().delete(scope, &gone).await.map(drop) }
    }

    /// Reads every active record within `scope` anew, oldest first, and tells after each page how many it has read.
    ///
    /// # Errors
    /// As [`index`](Self::index). What was read before stays.
    pub async fn rebuild(&self, scope: &Scope, mut progress: impl FnMut(u64)) -> Result<Extracted> {
        let active = Filter::eq(Field::State, State::Active.as_str());
        let mut query = ScanQuery::oldest(PAGE).with_filter(active);
        let mut all = Extracted::default();
        loop {
            let page = self.engine.scan(scope, &query).await?;
            let done = self.index(scope, &page.records).await?;
            all.records += done.records;
            all.failed.extend(done.failed);
            progress(all.records + all.failed.len() as u64);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(all);
            }
        }
    }

    /// The entities that some texts name with what is related to them, and the relations between them, each with the
    /// latest record that says so: for the sections of a prompt.
    ///
    /// # Errors
    /// `InvalidInput` for a senseless filter or too many hops; what the stores report.
    pub async fn facts(&self, scope: &Scope, query: &FactQuery) -> Result<GraphFacts> {
        cited::facts(&self.engine, scope, query).await
    }
}
