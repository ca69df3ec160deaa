//! The contract of a token counter.

use std::{fmt::Debug, sync::Arc};

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
