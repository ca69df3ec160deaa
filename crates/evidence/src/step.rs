//! The steps of a cascade and their outcomes.

use std::time::Duration;

use serde::Serialize;

/// A slot of [`MemoryEvidence`](crate::MemoryEvidence).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSlot {
    /// The database's vectors.
    SupabaseVector,
    /// The database's keywords.
    SupabaseKeyword,
    /// The local memory's keywords.
    LocalKeyword,
}

impl EvidenceSlot {
    /// Returns the name as in serde, such as `supabase_vector`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SupabaseVector => "supabase_vector",
            Self::SupabaseKeyword => "supabase_keyword",
            Self::LocalKeyword => "local_keyword",
        }
    }
}

/// A step of a cascade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceStep {
    /// The slot that it fills.
    pub slot: EvidenceSlot,
    /// The outcome.
    pub outcome: StepOutcome,
    /// The duration.
    pub took: Duration,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The number of pieces of evidence found.
    Hits(usize),
    /// Nothing was found.
    Empty,
    /// The source was not searched, for this reason.
    Skipped(&'static str),
    /// The source failed or exceeded its time limit.
    Failed(String),
}
