//! Deletion of records with everything that is derived from them, and its preview.

pub(crate) mod forget;
pub(crate) mod forget_text;
pub(crate) mod kept_out;
pub(crate) mod linked;
pub(crate) mod preview;
mod redaction;
