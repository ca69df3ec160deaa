//! A build without the feature `llm`: no query is rewritten.

use std::time::Duration;

use memory_engine_core::Result;

/// A rewrite of a query by a model. Without the feature `llm` it has no values.
#[derive(Debug, Clone, Copy)]
pub enum Rewrite {}

impl Rewrite {
    pub(crate) async fn ask(&self, _question: &str, _recent: &[(&str, &str)], _left: Duration) -> Result<String> {
        match *self {}
    }
}
