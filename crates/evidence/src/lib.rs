#![doc = include_str!("../README.md")]

mod cascade;
#[cfg(feature = "postgres")]
mod database;
mod evidence;
mod local;
mod options;
mod query;
mod source;
mod statistics;
mod step;
#[cfg(feature = "supabase")]
mod supabase;
mod unavailable;

pub use cascade::EvidenceCascade;
#[cfg(feature = "postgres")]
pub use database::DatabaseEvidence;
pub use evidence::{EventId, Evidence, MemoryEvidence};
pub use local::LocalEvidence;
pub use options::{EvidenceMode, EvidenceOptions};
pub use query::{EvidenceQuery, EvidenceRequest};
pub use source::EvidenceSource;
pub use statistics::{EvidenceStatistics, SlotStatistics};
pub use step::{EvidenceSlot, EvidenceStep, StepOutcome};
#[cfg(feature = "supabase")]
pub use supabase::SupabaseEvidence;
pub use unavailable::UnavailableEvidence;
