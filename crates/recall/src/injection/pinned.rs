//! Pinned records in contexts: they are part of each, up to a budget.

use memory_engine_core::{Field, Filter, Kind, Record, Result, Scope, State};

use crate::pipeline::RecallPipeline;

/// Maximum number of pinned records in a context. The latest ones are taken.
pub const MAX_PINNED: usize = 20;
/// Budget of the pinned records, as a share of the characters of all memories of a context (0–1). What they do not use
/// is left to the others.
const PINNED_SHARE: f64 = 0.5;

/// Returns the filter for active pinned records. The entries of values that are kept out are no memories.
pub fn pinned_filter() -> Filter {
    let is_memory = Filter::Not(Box::new(Filter::eq(Field::Kind, Kind::KEPT_OUT.as_str())));
    Filter::eq(Field::Pinned, true).and(Filter::eq(Field::State, State::Active.as_str())).and(is_memory)
}

/// Returns at most `limit` active pinned records that are visible from `scope`, the latest first.
///
/// # Errors
/// The store's error.
pub async fn pinned_records(engine: &impl AsRef<RecallPipeline>, scope: &Scope, limit: usize) -> Result<Vec<Record>> {
    engine.as_ref().newest(scope, pinned_filter(), limit).await
}

/// Returns the first records whose texts fit into the budget of pinned records, next to memories of at most `max_chars`
/// characters together and `max_chars_each` characters each.
pub(crate) fn within_budget(
    pinned: impl IntoIterator<Item = Record>,
    max_chars: usize,
    max_chars_each: usize,
) -> Vec<Record> {
    let mut remaining = (max_chars as f64 * PINNED_SHARE) as usize;
    let mut included = Vec::new();
    for record in pinned {
        let chars = record.text.chars().count().min(max_chars_each);
        if chars > remaining {
            break;
        }
        remaining -= chars;
        included.push(record);
    }
    included
}
