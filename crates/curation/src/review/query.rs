//! The query for pending records and its result, and the result of an acceptance.

use memory_engine_core::{
    Cursor, Field, Filter, Kind, Op, Record, RecordId, ReviewSource, RuleId, State, Timestamp, review_keys,
};
use serde::Serialize;

/// A query for pending records. `Review::pending` runs it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReviewQuery {
    /// Restricts to records of this source. Default: all.
    pub source: Option<ReviewSource>,
    /// Restricts to records of this kind. Default: all.
    pub kind: Option<Kind>,
    /// Restricts to records that occurred at this time or later. Default: all.
    pub since: Option<Timestamp>,
    /// Restricts to records that occurred before this time. Default: all.
    pub until: Option<Timestamp>,
    /// Maximum number of records of a page. Default: 100.
    pub limit: usize,
    /// Position after which the page begins. Default: the beginning.
    pub after: Option<Cursor>,
}

impl Default for ReviewQuery {
    fn default() -> Self {
        Self { source: None, kind: None, since: None, until: None, limit: 100, after: None }
    }
}

impl ReviewQuery {
    memory_engine_core::setters! {
        #![must_use]
        /// Restricts to records of this source.
        from_source(source: ReviewSource) => source = Some(source);
        /// Restricts to records of this kind.
        of_kind(kind: Kind) => kind = Some(kind);
        /// Restricts to records that occurred at this time or later.
        since(time: impl Into<Timestamp>) => since = Some(time.into());
        /// Restricts to records that occurred before this time.
        until(time: impl Into<Timestamp>) => until = Some(time.into());
        /// Sets the maximum number of records of a page.
        with_limit(limit: usize);
        /// Begins the page after this position, as in [`ReviewPage::next`].
        with_after(after: Option<Cursor>);
    }

    pub(super) fn filter(&self) -> Filter {
        let mut filter = Filter::eq(Field::State, State::Pending.as_str());
        if let Some(source) = self.source {
            filter = filter.and(Filter::eq(Field::Metadata(review_keys::SOURCE.into()), source.as_str()));
        }
        if let Some(kind) = &self.kind {
            filter = filter.and(Filter::eq(Field::Kind, kind.as_str()));
        }
        if let Some(since) = self.since {
            filter = filter.and(Filter::compare(Field::OccurredAt, Op::Ge, since));
        }
        if let Some(until) = self.until {
            filter = filter.and(Filter::compare(Field::OccurredAt, Op::Lt, until));
        }
        filter
    }
}

/// A record that waits for a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PendingMemory {
    /// The record.
    pub record: Record,
    /// Its source. `None` if it was stored as pending by an application.
    pub source: Option<ReviewSource>,
    /// The rule that made it, or `model`. Only facts have one.
    pub rule: Option<RuleId>,
    /// The records that it was derived from, as far as they are within the scope of the query.
    pub evidence: Vec<ReviewEvidence>,
}

/// A record that a pending one was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReviewEvidence {
    /// Its id.
    pub id: RecordId,
    /// Its text.
    pub text: String,
}

/// A page of pending records.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ReviewPage {
    /// The records, oldest first.
    pub pending: Vec<PendingMemory>,
    /// The position after which the next page begins; `None` for the last page.
    pub next: Option<Cursor>,
    /// Number of records that match the query, on all pages.
    pub total: u64,
}

/// The result of `Review::accept`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ReviewReport {
    /// The records that count from now on. A fact among them may be superseded at once, by a later one.
    pub accepted: Vec<RecordId>,
    /// The ids without a pending record within the scope.
    pub skipped: Vec<RecordId>,
    /// The records that stay pending, because a text like theirs was forgotten.
    pub blocked: Vec<RecordId>,
}
