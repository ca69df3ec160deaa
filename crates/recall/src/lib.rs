#![doc = include_str!("../README.md")]

mod boosts;
mod candidate;
mod candidates;
mod degraded_log;
mod enhance;
mod explain;
mod explanation;
mod fork;
mod found_hits;
mod graph_facts;
mod hit;
mod index_corrections;
mod injection;
mod neighbors;
mod new_branch;
mod options;
mod parts;
mod pipeline;
mod plan;
mod prompt;
mod query;
mod rank;
mod ranking;
mod ranking_step;
mod read_scope;
mod recall;
mod rerank;
mod retrieve;
#[cfg(feature = "llm")]
mod rewrite;
#[cfg(not(feature = "llm"))]
#[path = "no_rewrite.rs"]
mod rewrite;
mod run;
mod select;
mod time_travel;
mod topics;
mod trace;
mod updates;
mod warm_up;

pub use degraded_log::DegradedRecall;
pub use enhance::{EnhancedRecall, Enhancement, QueryForm};
pub use explanation::{Explanation, Verdict};
pub use fork::{Fork, Inherits, VisibleBranch, ancestors, fork_id, fork_of, on_branch};
pub use graph_facts::{Citation, GraphFacts, GraphFactsQuery, KeyEntity, KeyRelation};
pub use hit::{Boost, Degraded, FeatureScore, Recall, RecallHit, Retriever, RetrieverHit, StageTime};
pub use injection::{
    Injection, Injector,
    core::{Core, CoreClass, CoreEntry},
    injected::InjectedMemories,
    pinned::{MAX_PINNED, pinned_filter, pinned_records},
    trace::{ConsideredMemory, InjectionTrace, MemoryOutcome, MemorySource},
};
pub use memory_engine_reranker::{Feature, QueryShape};
pub use new_branch::create_fork;
pub use options::RecallOptions;
pub use parts::RecallParts;
pub use pipeline::RecallPipeline;
pub use prompt::{ContextRequest, PromptContext};
pub use query::{RecallQuery, Retrievers};
pub use ranking::RankingMethod;
pub use ranking_step::{RankingStep, StepRank};
pub use read_scope::ReadScope;
#[cfg(feature = "llm")]
pub use rewrite::Rewrite;
pub use topics::raises_topic;
pub use updates::Update;
pub use warm_up::WarmUp;
