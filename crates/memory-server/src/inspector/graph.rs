//! The view of the graph: entities and relations, and the records that state them.

pub(super) mod evidence;
pub(super) mod picture;

use memory_engine::{Field, Filter, Op, Timestamp};

/// Returns the filter for records that have not expired. A pinned record does not expire.
fn unexpired(now: Timestamp) -> Filter {
    let is_due = Filter::compare(Field::ExpiresAt, Op::Le, now).and(Filter::eq(Field::Pinned, false));
    Filter::Not(Box::new(is_due))
}
