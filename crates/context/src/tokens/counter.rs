//! The contract of a token counter.

use std::{fmt::Debug, sync::Arc};

/// Counts what a text costs of a budget.
///
/// The same text always counts the same, and an empty one nothing. A text need not count as much as its parts together:
/// whoever promises a budget counts the whole.
pub trait TokenCounter: Debug + Send + Sync + 'static {
    /// What is counted, for reports: `o200k`, `characters` …
    fn name(&self) -> &str;

    /// How many there are in the text.
    fn count(&self, text: &str) -> usize;
}

const _: fn(&dyn TokenCounter) = |_| {};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: TokenCounter + ?Sized> TokenCounter for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }
            fn count(&self, text: &str) -> usize {
                (**self).count(text)
            }
        }
    )*};
}

forward!(Arc, Box);
