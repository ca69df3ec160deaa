//! One recall on its way through the stages.

use memory_engine_core::{Result, Scope};
use memory_engine_reranker::QueryShape;

use crate::{
    index_corrections::IndexCorrections,
    parts::RecallParts,
    plan::{Plan, query_zone},
    query::RecallQuery,
    read_scope::ReadScope,
    trace::{Stage, Trace},
};

/// One recall. The stages are its methods; each is in the module of its name.
#[derive(Debug)]
pub(crate) struct RecallRun<'a> {
    pub(crate) parts: &'a RecallParts,
    pub(crate) scope: ReadScope,
    pub(crate) plan: Plan<'a>,
    pub(crate) trace: Trace,
    /// The records that were different at the time of the query; `None` for a query of the present.
    pub(crate) past: Option<IndexCorrections>,
    /// The formula that ranked the candidates.
    pub(crate) shape: Option<QueryShape>,
}

impl<'a> RecallRun<'a> {
    /// Begins a recall; its deadline runs from here.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter; `Timeout`; the store's error.
    pub(crate) async fn begin(parts: &'a RecallParts, scope: &Scope, query: &'a RecallQuery) -> Result<Self> {
        let zone = query_zone(parts, scope, query).await;
        let plan = Plan::new(parts, query, zone)?;
        let trace = Trace::new(plan.options.deadline);
        let scope = trace.require(Stage::Branches, ReadScope::resolve(&parts.store, scope)).await?;
        let mut run = Self { parts, scope, plan, trace, past: None, shape: None };
        run.load_past().await;
        Ok(run)
    }
}
