//! How long a text is for a model.

#[cfg(feature = "bpe")]
mod bpe;
mod counter;
mod estimate;

#[cfg(feature = "bpe")]
pub use bpe::BpeTokens;
pub use counter::TokenCounter;
pub use estimate::EstimatedTokens;

/// Counts characters, for budgets that are said in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Characters;

impl TokenCounter for Characters {
    fn name(&self) -> &str {
        "characters"
    }

    fn count(&self, text: &str) -> usize {
        text.chars().count()
    }
}
