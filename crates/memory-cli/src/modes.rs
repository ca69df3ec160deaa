//! The modes in which `memory eval` asks each question.

use std::time::Duration;

use memory_engine::{
    RecallOptions,
    recall::{Method, RankingMethod, Retrievers},
};

/// Deadline of a recall. Long, so that slow stages are measured too.
pub(crate) const EVAL_DEADLINE: Duration = Duration::from_secs(300);

/// A mode: the retrievers that take part, and the changes to the engine's options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    pub(crate) retrievers: Retrievers,
    change: fn(&mut RecallOptions),
}

const fn mode(name: &'static str, retrievers: Retrievers, change: fn(&mut RecallOptions)) -> Mode {
    Mode { name, retrievers, change }
}

/// Each retriever alone.
const SINGLE_RETRIEVERS: [Mode; 2] =
    [mode("keyword", Retrievers::KeywordOnly, |_| {}), mode("vector", Retrievers::VectorOnly, |_| {})];
/// All together, without a reranker.
const FUSED: Mode = mode("fused", Retrievers::All, |o| o.rerank_candidates = 0);
/// All together.
const RERANKED: Mode = mode("fused + rerank", Retrievers::All, |_| {});

/// The default with one part changed.
const ABLATIONS: [Mode; 10] = [
    mode("- dates", Retrievers::All, |o| o.date_weight = 0.0),
    mode("half the dates", Retrievers::All, |o| o.date_weight = 0.5),
    mode("- neighbours", Retrievers::All, |o| o.neighbor_share = 0.0),
    mode("- diversity", Retrievers::All, |o| o.diversity = 0.0),
    mode("- vectors", Retrievers::All, |o| {
        o.vector_weight = 0.0;
        o.min_vector_weight = 0.0;
    }),
    mode("half the vectors", Retrievers::All, |o| o.vector_weight /= 2.0),
    mode("more vectors", Retrievers::All, |o| o.vector_weight *= 1.5),
    mode("fusion alone", Retrievers::All, |o| o.ranking = RankingMethod::Fusion),
    mode("ranks, not scores", Retrievers::All, |o| o.fusion = Method::Ranks { k: 60.0 }),
    mode("+ age (30 days)", Retrievers::All, |o| o.min_recency_weight = 0.7),
];

impl Mode {
    /// Returns the retrievers alone and fused, with the reranker if there is one, which is the default; then, for an
    /// ablation, the default with one part changed at a time.
    pub(crate) fn all(reranker: bool, ablate: bool) -> Vec<Self> {
        let reranked = reranker.then_some(RERANKED);
        let ablations = ABLATIONS.into_iter().filter(|_| ablate);
        SINGLE_RETRIEVERS.into_iter().chain([FUSED]).chain(reranked).chain(ablations).collect()
    }

    /// Returns the engine's options with the changes of this mode.
    pub(crate) fn options(&self, engine: &RecallOptions) -> RecallOptions {
        let mut options = engine.with_deadline(EVAL_DEADLINE);
        (self.change)(&mut options);
        options
    }
}
