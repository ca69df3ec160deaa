//! Options and results of a recall, beyond those in the root; rerankers.

#[cfg(feature = "llm")]
pub use memory_engine_recall::Rewrite;
pub use memory_engine_recall::{
    Boost, Degraded, EnhancedRecall, Enhancement, Explanation, Feature, FeatureScore, QueryForm, QueryShape,
    RankingMethod, RankingStep, Recall, RecallHit, RecallOptions, RecallQuery, Retriever, RetrieverHit, Retrievers,
    StageTime, StepRank, Verdict, WarmUp,
};
pub use memory_engine_reranker::{LexicalReranker, Method, Reranker};
