//! What a recall is to do, once the question, the engine's options and the scene are brought together.

use memory_core::{Error, Filter, Result};

use crate::{MemoryEngine, RecallOptions, RecallQuery};

/// A question with everything that decides how it is answered.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) query: &'a RecallQuery,
    pub(crate) options: RecallOptions,
    pub(crate) limit: usize,
    /// How many hits each arm brings in.
    pub(crate) pool: usize,
    /// The question's filter, and what may be seen from its scene.
    pub(crate) filter: Option<Filter>,
}

impl<'a> Plan<'a> {
    /// # Errors
    /// `InvalidInput` for an empty question or a senseless filter.
    pub(crate) fn new(engine: &MemoryEngine, query: &'a RecallQuery) -> Result<Self> {
        if query.text.trim().is_empty() {
            return Err(Error::invalid("recall", "the question is empty; ask with at least one word"));
        }
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let options = query.options.unwrap_or(*engine.options());
        let seen = query.scene.as_ref().and_then(|scene| engine.scene_policy().filter(scene));
        let filter = match (query.filter.clone(), seen) {
            (Some(asked), Some(seen)) => Some(asked.and(seen)),
            (asked, seen) => asked.or(seen),
        };
        let limit = query.limit.unwrap_or(options.limit);
        Ok(Self { query, options, limit, pool: options.pool.max(limit), filter })
    }
}
