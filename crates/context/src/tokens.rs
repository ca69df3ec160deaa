//! Token counters, which measure texts against budgets.

#[cfg(feature = "bpe")]
mod bpe;
mod counter;
mod estimate;

#[cfg(feature = "bpe")]
pub use bpe::BpeTokens;
pub use counter::TokenCounter;
pub use estimate::EstimatedTokens;

/// Counts characters, for budgets in characters.
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
