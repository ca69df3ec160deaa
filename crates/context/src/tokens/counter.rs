//! The contract of a token counter.

use std::fmt::Debug;

/// Counts the tokens of a text.
///
/// The same text always has the same count, and an empty text has none. The count of a text may differ from the sum
/// over its parts, so a budget has to be checked against the whole text.
pub trait TokenCounter: Debug + Send + Sync + 'static {
    /// Returns the name in reports, such as `o200k` or `characters`.
    fn name(&self) -> &str;

    /// Returns the number of tokens of the text.
    fn count(&self, text: &str) -> usize;
}

const _: fn(&dyn TokenCounter) = |_| {};

memory_engine_core::forward! {
    impl TokenCounter {
        fn name(&self) -> &str;
        fn count(&self, text: &str) -> usize;
    }
}
