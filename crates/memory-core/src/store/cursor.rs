//! The text form of a cursor.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Cursor;
use crate::{
    error::{Error, Result},
    id::RecordId,
    time::Timestamp,
};

/// Writes `TIME_SEQUENCE_ID`: the time in microseconds and the sequence number, both as unsigned hexadecimal numbers,
/// and the id.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}_{:x}_{}", self.occurred_at.as_micros(), self.sequence, self.id)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| Error::invalid("cursor", "this is no cursor; use the one that a page gave"))
    }
}

fn parse(text: &str) -> Option<Cursor> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok().map(u64::cast_signed);
    let (time, rest) = text.split_once('_')?;
    let (sequence, id) = rest.split_once('_')?;
    let id: RecordId = id.parse().ok()?;
    Some(Cursor { occurred_at: Timestamp::from_micros(number(time)?), sequence: number(sequence)?, id })
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
