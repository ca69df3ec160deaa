#![doc = include_str!("../README.md")]

mod affection;
mod budgets;
#[cfg(feature = "engine")]
mod engine;
mod layers;
mod moment;
mod pack;
mod profile;
mod record;
mod reply;
mod stage;
mod state;
mod verdict;
mod words;

pub use affection::{AffectionChange, AffectionReason, AffectionRules, Bond};
pub use budgets::Budgets;
#[cfg(feature = "engine")]
pub use engine::{Companion, TurnPiece, TurnReply, TurnStream, UserMessage};
pub use layers::ContextInput;
pub use memory_engine_core::Language;
pub use memory_engine_summarizer::{ChatProfiles, Observed, Profile, ProfileSummarizer, RuleProfiles};
pub use moment::{FILTER_EARLIER_MESSAGES, MAX_CANDIDATES, MomentCandidate, MomentOutcome, MomentRule};
pub use pack::Pack;
pub use profile::{profile_record, profile_text};
pub use record::{AFFECTION_LOG, COMPANION_STATE, affection_record, moment_record, state_record};
pub use reply::{FilterEnd, ReplyFilter};
pub use stage::{MAX_AFFECTION, Stage, StageThreshold, Stages};
pub use state::CompanionState;
pub use verdict::MomentVerdict;
