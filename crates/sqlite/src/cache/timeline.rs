//! The records of an index by the time at which they occurred.

use memory_engine_core::{Field, Filter, FilterValue, Op};
use rustc_hash::FxHashMap;

/// Maximum number of unsorted entries. With more, or with more entries than twice the number of rows plus this, the
/// timeline is sorted again.
const MAX_UNSORTED: usize = 512;

/// Rows sorted by the time at which their records occurred, so that a time window is a range of them.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The time of each row.
    times: FxHashMap<i64, i64>,
    /// Times and rows. The first `sorted` entries are ascending. Entries of removed or moved rows are outdated: they
    /// are ignored, and removed by the next sort.
    order: Vec<(i64, i64)>,
    sorted: usize,
}

impl Timeline {
    /// Returns the timeline of these rows with their times.
    pub(crate) fn of(rows: impl Iterator<Item = (i64, i64)>) -> Self {
        let times: FxHashMap<i64, i64> = rows.collect();
        let mut order: Vec<(i64, i64)> = times.iter().map(|(row, time)| (*time, *row)).collect();
        order.sort_unstable();
        Self { sorted: order.len(), times, order }
    }

    pub(crate) fn insert(&mut self, row: i64, occurred_at: i64) {
        if self.times.insert(row, occurred_at) != Some(occurred_at) {
            self.order.push((occurred_at, row));
        }
    }

    pub(crate) fn remove(&mut self, row: i64) {
        self.times.remove(&row);
    }

    /// Sorts the entries if many are unsorted or outdated.
    pub(crate) fn sort_if_due(&mut self) {
        if self.order.len() - self.sorted <= MAX_UNSORTED && self.order.len() <= 2 * self.times.len() + MAX_UNSORTED {
            return;
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.order.retain(|(time, row)| self.times.get(row) == Some(time));
        // The entries are mostly sorted already; this sort merges the runs.
        self.order.sort();
        self.order.dedup();
        self.sorted = self.order.len();
    }

    /// Returns the rows in a time window, each once.
    pub(crate) fn rows_in(&self, window: TimelineWindow) -> impl Iterator<Item = i64> {
        let (sorted, unsorted) = self.order.split_at(self.sorted);
        let start = sorted.partition_point(|(time, _)| *time < window.first);
        let end = sorted.partition_point(|(time, _)| *time <= window.last).max(start);
        let unsorted = unsorted.iter().filter(move |(time, _)| (window.first..=window.last).contains(time));
        let mut seen = rustc_hash::FxHashSet::default();
        // If there is one sorted entry for each row, none is outdated.
        let none_outdated = self.is_sorted() && self.order.len() == self.times.len();
        sorted[start..end]
            .iter()
            .chain(unsorted)
            .filter(move |(time, row)| none_outdated || self.times.get(row) == Some(time))
            .map(|(_, row)| *row)
            // Sorted entries are unique.
            .filter(move |row| self.is_sorted() || seen.insert(*row))
    }

    fn is_sorted(&self) -> bool {
        self.sorted == self.order.len()
    }
}

/// A time window in microseconds, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimelineWindow {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl TimelineWindow {
    /// Returns the time window of a filter that has no other condition.
    #[allow(clippy::wildcard_enum_match_arm, reason = "other conditions have no window")]
    pub(crate) fn of(filter: &Filter) -> Option<Self> {
        let first = i64::MIN;
        let last = i64::MAX;
        match filter {
            Filter::Compare(Field::OccurredAt, op, FilterValue::Time(time)) => {
                let time = time.as_micros();
                Some(match op {
                    Op::Eq => Self { first: time, last: time },
                    Op::Ge => Self { first: time, last },
                    Op::Gt => Self { first: time.checked_add(1)?, last },
                    Op::Le => Self { first, last: time },
                    Op::Lt => Self { first, last: time.checked_sub(1)? },
                    _ => return None,
                })
            }
            Filter::And(filters) if !filters.is_empty() => {
                let mut intersection = Self { first, last };
                for filter in filters {
                    let window = Self::of(filter)?;
                    intersection.first = intersection.first.max(window.first);
                    intersection.last = intersection.last.min(window.last);
                }
                Some(intersection)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
