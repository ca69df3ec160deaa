//! User profiles: a summary of one user in a few lines, written by a model or by rules.
//!
//! Reasons: `docs/design/decisions/0021-profile-from-facts.md`.

mod chat;
mod fields;
mod labels;
mod record;
mod rules;
mod text;
mod writer;

pub use chat::ChatProfiles;
pub use fields::Profile;
pub use labels::reserved_headings;
pub use record::user_profile_record;
pub use rules::RuleProfiles;
pub use text::{conversation_line, cut, folded};
pub use writer::{Observed, ProfileSummarizer};
