//! Normalisation of text before it is hashed, compared or indexed.

mod codes;
mod folded;
mod normalization;
mod script;
#[cfg(feature = "chinese")]
mod simplification;
#[cfg(not(feature = "chinese"))]
#[path = "text/no_simplification.rs"]
mod simplification;

pub use codes::is_code;
pub use folded::{FoldedCharacter, fold_characters, is_identifier_separator};
pub use normalization::{FOLDS_TRADITIONAL, NORMALIZER, normalize};
pub use script::is_han;
