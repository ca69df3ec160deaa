//! What a companion knows of itself and one user, beside what was said.

use std::collections::BTreeMap;

use memory_engine_core::{Error, ErrorKind, Record, RecordId, Result, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    affection::Bond,
    stage::{MAX_AFFECTION, Stages},
};

/// The relationship of a companion and a user, kept in one record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CompanionState {
    /// How it stands.
    pub bond: Bond,
    /// How many messages there were, those of both.
    pub total_messages: u64,
    /// The key moments that came, each with what is noted of it. One that is here never comes again, even when the
    /// messages that tell of it are deleted.
    pub moments: BTreeMap<String, String>,
    /// The records of those moments, in the order of time. One that is deleted is named here still.
    pub key_moments: Vec<RecordId>,
    /// The record of the latest profile.
    pub profile: Option<RecordId>,
    /// How many messages there were when the profile was made.
    pub profile_at: u64,
    /// When the user last wrote.
    pub last_active_at: Option<Timestamp>,
}

/// The state as it stands in the metadata, under the names of the columns of the table `user_profiles` where it has
/// some.
#[derive(Serialize, Deserialize)]
struct Stored {
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
    /// Reads a record that [`state_record`](crate::state_record) made.
    ///
    /// # Errors
    /// `Corrupt` when it was not.
    pub fn of(record: &Record) -> Result<Self> {
        let broken = |e| {
            let message = format!("record {} does not hold the state of a companion", record.id);
            Error::new(ErrorKind::Corrupt, "companion", message).with_source(e)
        };
        let stored: Stored = serde_json::from_value(Value::Object(record.metadata.clone())).map_err(broken)?;
        let bond = Bond {
            affection: stored.affection.clamp(0, MAX_AFFECTION),
            consecutive_days: stored.consecutive_days,
            last_active: stored.last_active_day,
            settled: stored.settled_day,
        };
        let Stored { total_messages, moments, key_moments, profile, profile_at, last_active_at, .. } = stored;
        Ok(Self { bond, total_messages, moments, key_moments, profile, profile_at, last_active_at })
    }

    pub(crate) fn to_metadata(&self, stages: &Stages) -> Map<String, Value> {
        let stored = Stored {
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
        // For those who read the table: a date that sorts, and a number.
        if let Some(at) = self.last_active_at {
            metadata.insert("last_active_micros".into(), json!(at.as_micros()));
        }
        metadata
    }
}
