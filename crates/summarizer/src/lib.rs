#![doc = include_str!("../README.md")]

mod chunk;
mod data;
mod fact;
mod metadata;
mod profile;
mod request;
mod role;
mod summary;
mod supersede;
mod terms;
mod text;
mod topic_drift;
mod turn;
mod window;

pub use chunk::Chunker;
pub use fact::{
    Cardinality, ChatFacts, ExtractedFact, FactEvidence, FactExtractor, FactKind, FactPatterns, Facts, Polarity,
    RuleFacts, render,
};
pub use memory_engine_core::fact_keys;
pub use memory_engine_text::sentences;
pub use metadata::{ChatMetadata, Described, MetadataExtractor, RuleMetadata, TurnMetadata};
pub use profile::{
    ChatProfiles, Observed, Profile, ProfileSummarizer, RuleProfiles, conversation_line, cut, folded,
    reserved_headings, user_profile_record,
};
pub use request::{MemoryRequest, NamedTopic};
pub use role::is_said;
pub use summary::{ChatSummarizer, ExtractiveSummarizer, SUMMARY_PROMPT, Summarizer, Summary, SummaryRequest};
pub use supersede::{Change, ChangeKind, reconcile};
pub use topic_drift::TopicDrift;
pub use window::{RollingWindow, SummaryReason, SummaryTrigger, Window};
