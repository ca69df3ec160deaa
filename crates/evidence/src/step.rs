//! The log of a cascade: one entry for each step.

use std::time::Duration;

use serde::Serialize;

/// One of the slots.
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

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceStep {
    /// The slot it was for.
    pub slot: EvidenceSlot,
    /// What came of it.
    pub outcome: StepOutcome,
    /// How long it took.
    pub took: Duration,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It found so many.
    Hits(usize),
    /// It found nothing.
    Empty,
    /// There was no need or no way to ask.
    Skipped(&'static str),
    /// It failed or was not ready in time.
    Failed(String),
}
