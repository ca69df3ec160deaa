//! Deletions: previews, certificates, expiry.

pub(crate) mod handle;
mod preview;

pub use self::{handle::Deletion, preview::ForgetPreview};
