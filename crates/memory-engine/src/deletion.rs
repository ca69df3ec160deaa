//! Deletions: previews, certificates, expiry.

pub(crate) mod handle;
mod kept_out;
mod preview;
mod redaction;

pub use self::{handle::Deletion, kept_out::KeptOut, preview::ForgetPreview};
