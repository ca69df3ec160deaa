//! How affection grows and fades: arithmetic over days.

use std::fmt;

use jiff::{ToSpan, civil::Date};
use serde::{Deserialize, Serialize};

use crate::stage::{MAX_AFFECTION, Stages};

/// How much affection what happens is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AffectionRules {
    /// What each message of the user brings.
    pub message: i32,
    /// After so many days in a row, and again after as many more …
    pub streak_days: u32,
    /// … there is so much on top.
    pub streak: i32,
    /// So many whole days without a message cost nothing.
    pub idle_days: u32,
    /// What each further one costs, down to the floor of the chapter at the most.
    pub idle_loss: i32,
}

impl Default for AffectionRules {
    fn default() -> Self {
        Self { message: 1, streak_days: 7, streak: 50, idle_days: 30, idle_loss: 100 }
    }
}

/// A relationship as far as affection goes. Days are those of the user's calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bond {
    /// From 0 to [`MAX_AFFECTION`].
    pub affection: i32,
    /// On how many days in a row the user has written, up to the last one.
    pub consecutive_days: u32,
    /// The last day on which the user wrote.
    pub last_active: Option<Date>,
    /// The last day that was looked at for idleness.
    pub settled: Option<Date>,
}

/// A change of affection. Its delta is never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How much more or less it is.
    pub delta: i32,
    /// What it was.
    pub before: i32,
    /// What it is.
    pub after: i32,
    /// Why.
    pub reason: Reason,
    /// On which day.
    pub day: Date,
}

/// Why affection changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A message of the user.
    Message,
    /// That many days in a row.
    Streak(u32),
    /// The that-many-th whole day without a message.
    Idle(u32),
    /// A key moment, by its name.
    Moment(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message => f.write_str("message"),
            Self::Streak(days) => write!(f, "{days} days in a row"),
            Self::Idle(day) => write!(f, "idle day {day}"),
            Self::Moment(name) => write!(f, "key moment: {name}"),
        }
    }
}

impl Bond {
    /// Counts a message of the user, written on `today`: first what the days before have cost, then the message, then a
    /// streak that it completes. A day that lies before the last one (a clock or a zone was changed) counts as that
    /// one.
    pub fn message(&mut self, today: Date, rules: &AffectionRules, stages: &Stages) -> Vec<Change> {
        let mut changes = self.charge_idle_days(today, rules, stages);
        let days = self.last_active.map(|last| days_between(last, today));
        let new_day = days.is_none_or(|days| days > 0);
        changes.extend(self.change(rules.message, Reason::Message, today));
        if new_day {
            self.consecutive_days = if days == Some(1) { self.consecutive_days.saturating_add(1) } else { 1 };
            (self.last_active, self.settled) = (Some(today), None);
            if rules.streak_days > 0 && self.consecutive_days.is_multiple_of(rules.streak_days) {
                changes.extend(self.change(rules.streak, Reason::Streak(self.consecutive_days), today));
            }
        }
        changes
    }

    /// Takes off what whole days without a message have cost until yesterday, a change for each. Each day is charged
    /// once, however often this is called, and never below the floor of the chapter that the relationship is in.
    pub fn charge_idle_days(&mut self, today: Date, rules: &AffectionRules, stages: &Stages) -> Vec<Change> {
        let mut changes = Vec::new();
        let Some(last) = self.last_active else { return changes };
        let done = self.settled.map_or(0, |settled| days_between(last, settled)).max(i64::from(rules.idle_days));
        let until = days_between(last, today) - 1;
        if until <= done {
            return changes;
        }
        let floor = stages.floor(self.affection);
        for day in done + 1..=until {
            let loss = rules.idle_loss.clamp(0, self.affection - floor);
            let Ok(date) = last.checked_add(day.days()) else { break };
            match self.change(-loss, Reason::Idle(u32::try_from(day).unwrap_or(u32::MAX)), date) {
                Some(change) => changes.push(change),
                None => break, // on the floor: no further day costs anything
            }
        }
        self.settled = today.yesterday().ok();
        changes
    }

    /// Counts a key moment, which may cost something, too.
    pub fn moment(&mut self, delta: i32, name: &str, today: Date) -> Option<Change> {
        self.change(delta, Reason::Moment(name.to_owned()), today)
    }

    /// Changes affection within its bounds; `None` where that changes nothing.
    fn change(&mut self, delta: i32, reason: Reason, day: Date) -> Option<Change> {
        let before = self.affection;
        self.affection = before.saturating_add(delta).clamp(0, MAX_AFFECTION);
        let delta = self.affection - before;
        (delta != 0).then_some(Change { delta, before, after: self.affection, reason, day })
    }
}

/// Whole days from one date to another, by the calendar: hours that a clock skips or repeats do not matter.
fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}
