//! The trace of an injection: the memories that were considered, and why each is in the text or not.

use memory_engine_context::InjectionDecision;
use memory_engine_core::{Error, Language, Record, enum_names};
use serde::{Deserialize, Serialize};

/// The memories that an injection considered, and the limits that decided about them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InjectionTrace {
    /// The decision of the rules. `Injection::decision` differs from it if the
    /// rule only asks for relevant memories, and there are none.
    pub decision: InjectionDecision,
    /// Minimum relevance of a hit of the search.
    pub min_relevance: f64,
    /// Maximum number of memories of a search.
    pub max_memories: usize,
    /// The language of the heading and the labels of the text.
    pub language: Language,
    /// Maximum number of characters of the text.
    pub max_chars: usize,
    /// Maximum number of characters of one memory.
    pub max_chars_each: usize,
    /// The memories, in the order in which they were considered.
    pub considered: Vec<ConsideredMemory>,
}

/// A memory that an injection considered.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ConsideredMemory {
    /// The record.
    pub record: Record,
    /// The reason why it was considered. If there are several, the last one.
    pub source: MemorySource,
    /// The estimated probability (0–1) that it answers the message, if the search found it.
    pub relevance: Option<f64>,
    /// The reason why it is in the text or not.
    pub outcome: MemoryOutcome,
}

/// The reason why a memory is considered for an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemorySource {
    /// It is pinned.
    Pinned,
    /// It is a fact of the core: always true, and always important.
    Core,
    /// The search with the message found it.
    Search,
    /// It is a fact of the topic of the message.
    Topic,
    /// It is one of the latest summaries.
    LatestSummaries,
    /// It is one of the latest turns.
    LatestTurns,
    /// It is one of the latest facts of the user.
    Facts,
    /// It is the profile of the user.
    Profile,
    /// It replaced what another memory states.
    Update,
    /// It belongs to the conversation before this one.
    PreviousSession,
    /// It shows the feeling of the message.
    Emotion,
}

enum_names! {
    MemorySource, "source of an injected memory" {
        Pinned => "pinned",
        Core => "core",
        Search => "search",
        Topic => "topic",
        LatestSummaries => "latest_summaries",
        LatestTurns => "latest_turns",
        Facts => "facts",
        Profile => "profile",
        Update => "update",
        PreviousSession => "previous_session",
        Emotion => "emotion",
    }
}

/// The reason why a considered memory is in the text or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryOutcome {
    /// It is in the text.
    Injected,
    /// Its relevance is less than [`InjectionTrace::min_relevance`].
    NotRelevant,
    /// It is a turn that only asks, or says nothing ("Nice!").
    NoContent,
    /// It is a reply of the model, and the message does not ask for one.
    NotAsked,
    /// The conversation already contains it.
    InConversation,
    /// The caller excluded it, for example because it was injected before.
    Excluded,
    /// The conversation already contains all of its sources.
    DerivedFromConversation,
    /// Enough others of its kind come before it.
    OverLimit,
    /// The budget of the core is used up.
    OverCoreBudget,
    /// Another memory in the text states the same.
    Repeated,
    /// The text has no room for it: others rank before it.
    NoRoom,
}

enum_names! {
    MemoryOutcome, "outcome of a considered memory" {
        Injected => "injected",
        NotRelevant => "not_relevant",
        NoContent => "no_content",
        NotAsked => "not_asked",
        InConversation => "in_conversation",
        Excluded => "excluded",
        DerivedFromConversation => "derived_from_conversation",
        OverLimit => "over_limit",
        OverCoreBudget => "over_core_budget",
        Repeated => "repeated",
        NoRoom => "no_room",
    }
}
