//! What a recall is to do, once the question, the engine's options and the scene are brought together.

use memory_engine_core::{Error, Field, Filter, Op, Result, Timestamp};

use crate::{MemoryEngine, RecallOptions, RecallQuery, spaces::Space};

/// A question with everything that decides how it is answered.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) query: &'a RecallQuery,
    pub(crate) options: RecallOptions,
    pub(crate) asked_at: Timestamp,
    pub(crate) limit: usize,
    /// How many hits each arm brings in.
    pub(crate) pool: usize,
    /// The question's filter, and what may be seen from its scene.
    pub(crate) filter: Option<Filter>,
    /// The space that the question is embedded in.
    pub(crate) space: Space,
}

impl<'a> Plan<'a> {
    /// `visible` is what the asking scope sees of the one that is searched.
    ///
    /// # Errors
    /// `InvalidInput` for an empty question or a senseless filter.
    pub(crate) fn new(engine: &MemoryEngine, query: &'a RecallQuery, visible: Option<Filter>) -> Result<Self> {
        if query.text.trim().is_empty() {
            return Err(Error::invalid("recall", "the question is empty; ask with at least one word"));
        }
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let options = query.options.unwrap_or(*engine.options());
        let asked_at = query.asked_at.unwrap_or_else(|| engine.clock().now());
        let seen = query.scene.as_ref().and_then(|scene| engine.scene_policy().filter(scene));
        let then = if query.only_then { named_time(query, asked_at) } else { None };
        let filter = [visible, query.filter.clone(), seen, then].into_iter().flatten().reduce(Filter::and);
        let limit = query.limit.unwrap_or(options.limit);
        let space = engine.spaces().serving().clone();
        Ok(Self { query, options, asked_at, limit, pool: options.pool.max(limit), filter, space })
    }
}

/// That something occurred in one of the stretches of time that the question names.
pub(crate) fn named_time(query: &RecallQuery, asked_at: Timestamp) -> Option<Filter> {
    let within = |window: memory_engine_temporal::Window| {
        let from = Filter::compare(Field::OccurredAt, Op::Ge, window.from);
        from.and(Filter::compare(Field::OccurredAt, Op::Lt, window.until))
    };
    let windows = memory_engine_temporal::windows(&query.text, asked_at, &query.zone);
    (!windows.is_empty()).then(|| Filter::Or(windows.into_iter().map(within).collect()))
}
