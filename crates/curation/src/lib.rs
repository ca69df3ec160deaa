#![doc = include_str!("../README.md")]

#[cfg(feature = "certificates")]
pub mod certificate;
mod correction;
mod curation;
mod deletion;
mod patch;
#[cfg(feature = "enrichment")]
mod requests;
mod retraction;
mod review;
mod secrets;

pub use curation::Curation;
pub use deletion::{
    forget::{Forget, ForgetReport, ProgressFn},
    forget_text::ForgetText,
    kept_out::KeptOut,
    linked::LinkedTurns,
    preview::ForgetPreview,
};
pub use patch::RecordPatch;
#[cfg(feature = "enrichment")]
pub use requests::{ChatCommand, MAX_UNASKED, UNDO_PERIOD};
pub use retraction::{RETRACTION, Retraction, Rewind};
pub use review::{
    query::{PendingMemory, ReviewEvidence, ReviewPage, ReviewQuery, ReviewReport},
    source::StoredRecord,
};
pub use secrets::{RecordSecrets, SecretReport};
