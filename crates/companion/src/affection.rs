//! The rules by which affection grows with messages and fades over days without one.

use std::{fmt, str::FromStr};

use jiff::{ToSpan, civil::Date};
use memory_engine_core::{Error, ErrorKind, Record, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::stage::{MAX_AFFECTION, Stages};

/// Points of affection for messages, streaks and idle days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AffectionRules {
    /// Points for each message of the user. Default: 1.
    pub message: i32,
    /// Number of consecutive days that complete a streak. Default: 7. With 0, there are no streaks.
    pub streak_days: u32,
    /// Points for each completed streak. Default: 50.
    pub streak: i32,
    /// Number of whole days without a message that cost nothing. Default: 30.
    pub idle_days: u32,
    /// Points lost for each further idle day, but not below the floor of the current chapter. Default: 100.
    pub idle_loss: i32,
}

impl Default for AffectionRules {
    fn default() -> Self {
        Self { message: 1, streak_days: 7, streak: 50, idle_days: 30, idle_loss: 100 }
    }
}

/// The affection between companion and user. Days are those of the user's calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bond {
    /// Points, from 0 to [`MAX_AFFECTION`].
    pub affection: i32,
    /// Number of consecutive days with a message, up to the last active day.
    pub consecutive_days: u32,
    /// The last day on which the user wrote.
    pub last_active: Option<Date>,
    /// The last idle day that was charged.
    pub settled: Option<Date>,
}

/// A change of affection. Its delta is never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectionChange {
    /// The difference in points.
    pub delta: i32,
    /// The points before.
    pub before: i32,
    /// The points after.
    pub after: i32,
    /// The reason.
    pub reason: AffectionReason,
    /// The day of the change.
    pub day: Date,
}

/// The reason of a change of affection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AffectionReason {
    /// A message of the user.
    Message,
    /// A streak of this many consecutive days.
    Streak(u32),
    /// A whole day without a message; its number since the last active day.
    Idle(u32),
    /// A key moment, by its name.
    Moment(String),
}

impl fmt::Display for AffectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message => f.write_str("message"),
            Self::Streak(days) => write!(f, "{days} days in a row"),
            Self::Idle(day) => write!(f, "idle day {day}"),
            Self::Moment(name) => write!(f, "key moment: {name}"),
        }
    }
}

impl FromStr for AffectionReason {
    type Err = Error;

    /// Parses the text form.
    fn from_str(text: &str) -> Result<Self> {
        let days = |text: &str| text.parse::<u32>().ok();
        let reason = if text == "message" {
            Some(Self::Message)
        } else if let Some(name) = text.strip_prefix("key moment: ") {
            Some(Self::Moment(name.to_owned()))
        } else if let Some(day) = text.strip_prefix("idle day ") {
            days(day).map(Self::Idle)
        } else {
            text.strip_suffix(" days in a row").and_then(days).map(Self::Streak)
        };
        reason.ok_or_else(|| Error::invalid("companion", "this is no reason of a change of affection"))
    }
}

impl AffectionChange {
    /// Reads a change from a record of [`affection_record`](crate::affection_record).
    ///
    /// # Errors
    /// `Corrupt` for any other record.
    pub fn of(record: &Record) -> Result<Self> {
        let reason: Option<String> = metadata_value(record, "reason");
        let change = || {
            Some(Self {
                delta: metadata_value(record, "delta")?,
                before: metadata_value(record, "before_value")?,
                after: metadata_value(record, "after_value")?,
                reason: reason?.parse().ok()?,
                day: metadata_value(record, "day")?,
            })
        };
        change().ok_or_else(|| {
            let message = format!("record {} does not contain a change of affection", record.id);
            Error::new(ErrorKind::Corrupt, "companion", message)
        })
    }
}

fn metadata_value<T: DeserializeOwned>(record: &Record, key: &str) -> Option<T> {
    serde_json::from_value(record.metadata.get(key)?.clone()).ok()
}

impl Bond {
    /// Counts a message of the user on `today`: charges idle days, and adds the points of the message and of a streak
    /// that it completes. If `today` is before the last active day, because a clock or zone has changed, the message
    /// does not start a new day.
    pub fn message(&mut self, today: Date, rules: &AffectionRules, stages: &Stages) -> Vec<AffectionChange> {
        let mut changes = self.charge_idle_days(today, rules, stages);
        let days = self.last_active.map(|last| days_between(last, today));
        let is_new_day = days.is_none_or(|days| days > 0);
        changes.extend(self.change(rules.message, AffectionReason::Message, today));
        if is_new_day {
            self.consecutive_days = if days == Some(1) { self.consecutive_days.saturating_add(1) } else { 1 };
            self.last_active = Some(today);
            self.settled = None;
            if rules.streak_days > 0 && self.consecutive_days.is_multiple_of(rules.streak_days) {
                changes.extend(self.change(rules.streak, AffectionReason::Streak(self.consecutive_days), today));
            }
        }
        changes
    }

    /// Charges the whole days without a message until yesterday, one change for each. Each day is charged once,
    /// however often this is called, and affection does not fall below the floor of the current chapter.
    pub fn charge_idle_days(&mut self, today: Date, rules: &AffectionRules, stages: &Stages) -> Vec<AffectionChange> {
        let mut changes = Vec::new();
        let Some(last) = self.last_active else { return changes };
        let charged_days =
            self.settled.map_or(0, |settled| days_between(last, settled)).max(i64::from(rules.idle_days));
        let idle_days = days_between(last, today) - 1;
        if idle_days <= charged_days {
            return changes;
        }
        let floor = stages.floor(self.affection);
        for day in charged_days + 1..=idle_days {
            let loss = rules.idle_loss.clamp(0, self.affection - floor);
            let Ok(date) = last.checked_add(day.days()) else { break };
            match self.change(-loss, AffectionReason::Idle(u32::try_from(day).unwrap_or(u32::MAX)), date) {
                Some(change) => changes.push(change),
                None => break, // at the floor, further days cost nothing
            }
        }
        self.settled = today.yesterday().ok();
        changes
    }

    /// Counts a key moment. Its points may be negative.
    pub fn moment(&mut self, delta: i32, name: &str, today: Date) -> Option<AffectionChange> {
        self.change(delta, AffectionReason::Moment(name.to_owned()), today)
    }

    /// Changes affection within its bounds. Returns `None` if that changes nothing.
    fn change(&mut self, delta: i32, reason: AffectionReason, day: Date) -> Option<AffectionChange> {
        let before = self.affection;
        self.affection = before.saturating_add(delta).clamp(0, MAX_AFFECTION);
        let delta = self.affection - before;
        (delta != 0).then_some(AffectionChange { delta, before, after: self.affection, reason, day })
    }
}

/// Returns the number of calendar days from one date to another. Hours skipped or repeated by a clock change do not
/// count.
fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}
