//! Expressions that are compiled at their first use.

use std::sync::OnceLock;

use memory_engine_text::{RegexOptions, SharedRegex};

/// An expression that is compiled at its first use.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    expression: &'static str,
    compiled: OnceLock<Option<SharedRegex>>,
}

impl LazyRegex {
    pub(crate) const fn new(expression: &'static str) -> Self {
        Self { expression, compiled: OnceLock::new() }
    }

    /// Returns the text of the expression.
    #[cfg(test)]
    pub(crate) const fn as_str(&self) -> &'static str {
        self.expression
    }

    /// Returns the expression, or `None` if it does not compile. A test compiles every expression.
    pub(crate) fn get(&self) -> Option<&SharedRegex> {
        self.compiled.get_or_init(|| RegexOptions::default().compile(self.expression).ok()).as_ref()
    }
}
