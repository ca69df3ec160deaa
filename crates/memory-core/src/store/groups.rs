//! Groups of records: the counts and times from which lists of users, agents, sessions and applications are made.

use std::collections::BTreeMap;

use crate::{
    record::{Kind, Record, State},
    scope::Scope,
    time::Timestamp,
};

/// The records of one kind, state and application at one address.
///
/// A store keeps the groups up to date with each write, so that reading them costs time for each group and not for each
/// record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordGroup {
    /// The address of the records.
    pub scope: Scope,
    /// Their kind.
    pub kind: Kind,
    /// Their state.
    pub state: State,
    /// The application that wrote them: the text under [`APP_KEY`](Self::APP_KEY). `None` without such a text, and for
    /// an empty one.
    pub app: Option<String>,
    /// Number of records; at least 1.
    pub records: u64,
    /// The time at which the oldest of them occurred.
    pub oldest: Timestamp,
    /// The time at which the newest of them occurred.
    pub newest: Timestamp,
    /// The latest time under [`EDITED_KEY`](Self::EDITED_KEY); `None` if no record of the group has one.
    pub edited_at: Option<Timestamp>,
}

impl RecordGroup {
    /// The metadata key of the application that wrote a record (mem0: `app_id`).
    pub const APP_KEY: &'static str = "mem0.app";
    /// The metadata key of the time at which a record was last edited: an integer in microseconds since 1970.
    pub const EDITED_KEY: &'static str = "mem0.updated";
    /// Maximum distance of an edit time from 1970, in microseconds. Other numbers are ignored.
    pub const MAX_EDITED_MICROS: u64 = 999_999_999_999_999_999;

    /// Creates a group of `records` records that all occurred at `time`.
    pub fn new(scope: Scope, kind: Kind, state: State, records: u64, time: Timestamp) -> Self {
        Self { scope, kind, state, app: None, records, oldest: time, newest: time, edited_at: None }
    }

    crate::setters! {
        #![must_use]
        /// Sets the [application](Self::app).
        with_app(app: Option<String>);
        /// Sets the time of the [newest](Self::newest) record.
        with_newest(newest: Timestamp);
        /// Sets the [time of the latest edit](Self::edited_at).
        with_edited_at(edited_at: Option<Timestamp>);
    }

    /// Groups records. The groups are ordered by address, kind, state and application.
    pub fn collect<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Self> {
        let mut groups: BTreeMap<_, Self> = BTreeMap::new();
        for record in records {
            let group = Self::of(record);
            match groups.get_mut(&group.key()) {
                Some(existing) => existing.merge(&group),
                None => drop(groups.insert(group.key(), group)),
            }
        }
        groups.into_values().collect()
    }

    /// Sorts groups by address, kind, state and application.
    pub fn sort(groups: &mut [Self]) {
        groups.sort_by_cached_key(Self::key);
    }

    /// Returns the group of one record.
    fn of(record: &Record) -> Self {
        let app = record.metadata.get(Self::APP_KEY).and_then(|value| value.as_str());
        let edited_at = record.metadata.get(Self::EDITED_KEY).and_then(serde_json::Value::as_i64);
        let edited_at = edited_at.filter(|micros| micros.unsigned_abs() <= Self::MAX_EDITED_MICROS);
        Self::new(record.scope.clone(), record.kind.clone(), record.state, 1, record.occurred_at)
            .with_app(app.filter(|app| !app.is_empty()).map(str::to_owned))
            .with_edited_at(edited_at.map(Timestamp::from_micros))
    }

    fn key(&self) -> (Scope, String, &'static str, Option<String>) {
        (self.scope.clone(), self.kind.as_str().to_owned(), self.state.as_str(), self.app.clone())
    }

    fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.oldest = self.oldest.min(other.oldest);
        self.newest = self.newest.max(other.newest);
        self.edited_at = self.edited_at.max(other.edited_at);
    }
}
