#![doc = include_str!("../README.md")]

mod affection;
mod layers;
mod moment;
mod pack;
mod profile;
mod record;
mod reply;
mod stage;
mod state;
mod summarizer;
mod words;

pub use affection::{AffectionRules, Bond, Change, MOST_AFFECTION, Reason};
pub use layers::{Budgets, Material};
pub use moment::{MomentRule, Outcome, Verdict};
pub use pack::Pack;
pub use profile::Profile;
pub use record::{
    AFFECTION_LOG, COMPANION_STATE, affection_record, moment_record, profile_record, state_record, user_profile_record,
};
pub use reply::{ReplyFilter, Told};
pub use stage::{Stage, Stages};
pub use state::CompanionState;
pub use summarizer::{ChatProfiles, Observed, ProfileSummarizer, RuleProfiles};
pub use words::Language;
