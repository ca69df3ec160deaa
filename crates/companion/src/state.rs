//! The state of the relationship between a companion and a user, and its form in a record's metadata.

use std::collections::BTreeMap;

use memory_engine_core::{Error, ErrorKind, Record, RecordId, Result, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    affection::Bond,
    stage::{MAX_AFFECTION, StageThreshold, Stages},
};

/// The state of the relationship between a companion and a user, stored in one record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CompanionState {
    /// Affection and active days.
    pub bond: Bond,
    /// Number of messages, of user and companion together.
    pub total_messages: u64,
    /// The key moments that happened, by id, with their status. They do not happen again, even if their messages are
    /// deleted.
    pub moments: BTreeMap<String, String>,
    /// The records of those moments, in order of time, including deleted ones.
    pub key_moments: Vec<RecordId>,
    /// The record of the latest profile.
    pub profile: Option<RecordId>,
    /// Number of messages at the time of the latest profile.
    pub profile_at: u64,
    /// The time of the user's last message.
    pub last_active_at: Option<Timestamp>,
}

/// The form of the state in metadata. Names are those of the columns of the SQL view `user_profiles` where it has them.
#[derive(Serialize, Deserialize)]
struct StoredState {
    affection: i32,
    #[serde(default)]
    consecutive_days: u32,
    #[serde(default)]
    total_messages: u64,
    #[serde(default)]
    last_active_day: Option<jiff::civil::Date>,
    #[serde(default)]
    settled_day: Option<jiff::civil::Date>,
    #[serde(default)]
    last_active_at: Option<Timestamp>,
    #[serde(default)]
    moments: BTreeMap<String, String>,
    #[serde(default)]
    key_moments: Vec<RecordId>,
    #[serde(default)]
    profile: Option<RecordId>,
    #[serde(default)]
    profile_at: u64,
}

impl CompanionState {
    /// Reads the state from a record of [`state_record`](crate::state_record).
    ///
    /// # Errors
    /// `Corrupt` for any other record.
    pub fn of(record: &Record) -> Result<Self> {
        let corrupt = |e| {
            let message = format!("record {} does not contain the state of a companion", record.id);
            Error::new(ErrorKind::Corrupt, "companion", message).with_source(e)
        };
        let stored: StoredState = serde_json::from_value(Value::Object(record.metadata.clone())).map_err(corrupt)?;
        let bond = Bond {
            affection: stored.affection.clamp(0, MAX_AFFECTION),
            consecutive_days: stored.consecutive_days,
            last_active: stored.last_active_day,
            settled: stored.settled_day,
        };
        let StoredState { total_messages, moments, key_moments, profile, profile_at, last_active_at, .. } = stored;
        Ok(Self { bond, total_messages, moments, key_moments, profile, profile_at, last_active_at })
    }

    pub(crate) fn to_metadata(&self, stages: &Stages) -> Map<String, Value> {
        let stored = StoredState {
            affection: self.bond.affection,
            consecutive_days: self.bond.consecutive_days,
            total_messages: self.total_messages,
            last_active_day: self.bond.last_active,
            settled_day: self.bond.settled,
            last_active_at: self.last_active_at,
            moments: self.moments.clone(),
            key_moments: self.key_moments.clone(),
            profile: self.profile,
            profile_at: self.profile_at,
        };
        let mut metadata = match serde_json::to_value(stored) {
            Ok(Value::Object(metadata)) => metadata,
            Ok(_) | Err(_) => Map::new(),
        };
        metadata.retain(|_, value| !value.is_null());
        metadata.insert("current_chapter".into(), json!(stages.at(self.bond.affection).0));
        // A viewer of the record has no pack, and cannot name the stages otherwise.
        metadata.insert(StageThreshold::KEY.into(), json!(stages.thresholds()));
        // SQL queries sort by this number.
        if let Some(at) = self.last_active_at {
            metadata.insert("last_active_micros".into(), json!(at.as_micros()));
        }
        metadata
    }
}
