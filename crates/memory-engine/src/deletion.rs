//! Deletions: previews, certificates, expiry.

pub(crate) mod handle;
mod preview;
mod redaction;

pub use self::{handle::Deletion, preview::ForgetPreview};
