//! A window of time that a text names.

use std::ops::Range;

use jiff::{
    ToSpan,
    civil::{Date, Time},
    tz::TimeZone,
};
use memory_engine_core::{Error, Timestamp, enum_names};
use serde::{Deserialize, Serialize};

/// A range of time that a text names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TimeWindow {
    /// The start of the window.
    pub from: Timestamp,
    /// The end of the window (exclusive).
    pub until: Timestamp,
    /// The byte range of the date in the text.
    pub range: Range<usize>,
    /// The precision of the text.
    pub exactness: Exactness,
    /// True if the window depends on the time of the text: `yesterday`, or a month without a year.
    pub relative: bool,
}

/// The precision with which a text names a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// A day, week, month or year of the calendar.
    Exact,
    /// Approximate: "three weeks ago", or a month without its year.
    About,
    /// Only a direction: "recently", "a while ago".
    Rough,
}

enum_names! {
    Exactness, "precision" {
        Exact => "exact",
        About => "about",
        Rough => "rough",
    }
}

impl TimeWindow {
    /// Returns true if a moment is within the window.
    pub fn contains(&self, moment: Timestamp) -> bool {
        self.from <= moment && moment < self.until
    }

    /// Returns the window in the shortest form of ISO 8601: `2023`, `2023-05`, `2023-05-07`, or the first and the last
    /// day with a slash between them.
    pub fn label(&self, zone: &TimeZone) -> String {
        label(self.from, self.until, zone)
    }
}

/// Returns the label of a window; see [`TimeWindow::label`].
pub(crate) fn label(from: Timestamp, until: Timestamp, zone: &TimeZone) -> String {
    let from = from.in_zone(zone);
    let until = until.in_zone(zone);
    let first = from.date();
    // The end is exclusive, so a window until midnight ends on the day before.
    let last = match until.time() == Time::midnight() {
        true => until.date().checked_sub(1.day()).unwrap_or(first),
        false => until.date(),
    };
    let next = |date: Date| date.checked_add(1.day()).unwrap_or(date);
    let has_whole_days = from.time() == Time::midnight() && until.time() == Time::midnight();
    if has_whole_days && first == first.first_of_year() && last == first.last_of_year() {
        return format!("{:04}", first.year());
    }
    if has_whole_days && first == first.first_of_month() && last == first.last_of_month() {
        return format!("{:04}-{:02}", first.year(), first.month());
    }
    // A night belongs to the day on which it began.
    let is_night = !has_whole_days && until.time() <= Time::constant(6, 0, 0, 0) && last == next(first);
    if first >= last || is_night { first.to_string() } else { format!("{first}/{last}") }
}
