//! The parts of the answer about a companion.

use jiff::civil::Date;
use memory_engine::{Record, RecordId, Timestamp};
use memory_engine_companion::{AffectionChange, AffectionReason, CompanionState, MAX_AFFECTION, StageThreshold};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::record::RecordView;

/// A companion of a user.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompanionView {
    /// The id of the record of its state.
    #[schemars(with = "String")]
    id: RecordId,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Affection in points, from 0 to `max_affection`.
    affection: i32,
    max_affection: i32,
    /// The number of the current stage, from 1.
    chapter: Option<u64>,
    /// Number of consecutive days with a message, up to the last active day.
    consecutive_days: u32,
    /// Number of messages of both sides.
    messages: u64,
    /// Time of the user's last message.
    last_active_at: Option<String>,
    /// Number of key moments that happened.
    moments: usize,
}

impl CompanionView {
    pub(super) fn of(record: &Record, state: &CompanionState) -> Self {
        let [user_id, agent_id, session_id, branch] =
            record.scope.dimensions().map(|(_, name)| name.map(str::to_owned));
        Self {
            id: record.id,
            user_id,
            agent_id,
            session_id,
            branch,
            affection: state.bond.affection,
            max_affection: MAX_AFFECTION,
            chapter: record.metadata.get("current_chapter").and_then(Value::as_u64),
            consecutive_days: state.bond.consecutive_days,
            messages: state.total_messages,
            last_active_at: state.last_active_at.map(|time| time.to_string()),
            moments: state.moments.len(),
        }
    }
}

/// A stage of the relationship.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StageView {
    name: String,
    /// Minimum affection of the stage.
    from: i32,
    /// Affection at which the next stage begins; null for the last one.
    until: Option<i32>,
    is_current: bool,
}

impl StageView {
    pub(super) fn all_of(stages: &[StageThreshold], affection: i32) -> Vec<Self> {
        let untils = stages.iter().skip(1).map(|stage| Some(stage.from)).chain([None]);
        let view = |(stage, until): (&StageThreshold, Option<i32>)| Self {
            name: stage.name.clone(),
            from: stage.from,
            until,
            is_current: stage.from <= affection && until.is_none_or(|until| affection < until),
        };
        stages.iter().zip(untils).map(view).collect()
    }
}

/// The changes of affection of one day.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DayView {
    /// The day in the user's calendar.
    #[schemars(with = "String")]
    day: Date,
    /// Affection before the first change of the day.
    before: i32,
    /// Affection after the last change of the day.
    after: i32,
    /// Number of messages of the user that counted.
    messages: usize,
    /// Key moments of the day, by name.
    moments: Vec<String>,
}

impl DayView {
    /// Returns the days of changes, which are in the order in which they took effect.
    pub(super) fn all_of(changes: &[(Timestamp, AffectionChange)]) -> Vec<Self> {
        let mut days: Vec<Self> = Vec::new();
        for (_, change) in changes {
            if days.last().is_none_or(|last| last.day != change.day) {
                let (day, before, after) = (change.day, change.before, change.after);
                days.push(Self { day, before, after, messages: 0, moments: Vec::new() });
            }
            let Some(day) = days.last_mut() else { continue };
            day.after = change.after;
            match &change.reason {
                AffectionReason::Message => day.messages += 1,
                AffectionReason::Moment(name) => day.moments.push(name.clone()),
                AffectionReason::Streak(_) | AffectionReason::Idle(_) => {}
            }
        }
        days
    }
}

/// A change of affection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ChangeView {
    /// The time at which it was counted.
    time: String,
    /// The day in the user's calendar to which it belongs.
    #[schemars(with = "String")]
    day: Date,
    delta: i32,
    before: i32,
    after: i32,
    /// `message`, `streak`, `idle` or `moment`.
    reason: &'static str,
    /// The length of a streak in days, or the number of an idle day.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<u32>,
    /// The name of a key moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    moment: Option<String>,
}

impl ChangeView {
    pub(super) fn of(time: Timestamp, change: &AffectionChange) -> Self {
        let (reason, days, moment) = match &change.reason {
            AffectionReason::Message => ("message", None, None),
            AffectionReason::Streak(days) => ("streak", Some(*days), None),
            AffectionReason::Idle(day) => ("idle", Some(*day), None),
            AffectionReason::Moment(name) => ("moment", None, Some(name.clone())),
        };
        let AffectionChange { delta, before, after, day, .. } = *change;
        Self { time: time.to_string(), day, delta, before, after, reason, days, moment }
    }

    /// Returns true for the points of a message.
    pub(super) fn is_message(change: &AffectionChange) -> bool {
        change.reason == AffectionReason::Message
    }
}

/// A key moment. Its `topic` is its name, and its text are its messages, word for word.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MomentView {
    #[serde(flatten)]
    record: RecordView,
    /// The number of the stage in which it happened.
    chapter: Option<u64>,
    outcome: Option<String>,
    /// `completed` or `failed`.
    status: Option<String>,
    /// The change of affection.
    affection: Option<i64>,
}

impl MomentView {
    pub(super) fn of(record: &Record) -> Self {
        let text = |key: &str| record.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            record: RecordView::of(record),
            chapter: record.metadata.get("chapter").and_then(Value::as_u64),
            outcome: text("outcome"),
            status: text("status"),
            affection: record.metadata.get("affection_gained").and_then(Value::as_i64),
        }
    }
}
