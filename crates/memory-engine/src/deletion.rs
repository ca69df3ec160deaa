//! Previews of deletions.

mod preview;

pub use self::preview::ForgetPreview;
