#![doc = include_str!("../README.md")]

mod chunk;
mod data;
mod drift;
mod echo;
mod fact;
mod metadata;
mod profile;
mod sentence;
mod spoken;
mod summary;
mod supersede;
mod terms;
mod text;
mod turn;
mod window;

pub use chunk::{CHUNKER, Chunker};
pub use drift::TopicDrift;
pub use echo::{is_echo, without_injected};
pub use fact::{
    Cardinality, ChatFacts, ExtractedFact, FactEvidence, FactExtractor, FactKind, FactPatterns, Facts, Polarity,
    RuleFacts, fact_keys, render,
};
pub use metadata::{ChatMetadata, Described, Emotions, MetadataExtractor, RuleMetadata, TurnMetadata};
pub use profile::{
    ChatProfiles, Observed, Profile, ProfileSummarizer, RuleProfiles, conversation_line, cut, folded,
    reserved_headings, user_profile_record,
};
pub use sentence::sentences;
pub use spoken::is_said;
pub use summary::{ChatSummarizer, ExtractiveSummarizer, SUMMARY_PROMPT, Summarizer, Summary, SummaryRequest};
pub use supersede::{Change, ChangeKind, reconcile};
pub use window::{RollingWindow, SummaryReason, SummaryTrigger, Window};
