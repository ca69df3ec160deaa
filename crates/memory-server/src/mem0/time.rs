//! Times and days, as mem0's clients write them.

use jiff::tz::TimeZone;
use memory_engine::Timestamp;
use serde_json::Value;

use super::error::Mem0Error;

/// Microseconds from 1970 to the year 10 000.
const MAX_MICROS: f64 = 253_402_300_800e6;

/// Reads a point in time: RFC 3339, a day, or seconds since 1970.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => {
            let micros = number.as_f64()? * 1e6;
            (micros.abs() < MAX_MICROS).then(|| Timestamp::from_micros(micros as i64))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the time zone that a point in time names: that of its offset. Days and times without an offset are read in
/// UTC.
pub(super) fn zone(value: &Value) -> Option<TimeZone> {
    let text = value.as_str()?;
    let has_no_offset = text.trim().parse::<jiff::Timestamp>().is_err();
    Timestamp::zone_of(text).or_else(|| has_no_offset.then_some(TimeZone::UTC))
}

/// Reads the parameter `timestamp`.
pub(super) fn timestamp(value: Option<&Value>) -> Result<Option<Timestamp>, Mem0Error> {
    let invalid =
        || Mem0Error::bad_request("timestamp must be seconds since 1970, or a time such as 2026-03-02T20:15:00Z");
    value.map(|value| moment(value).ok_or_else(invalid)).transpose()
}

/// Returns true if a value is a day without a time.
pub(super) fn is_whole_day(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().len() == 10)
}

/// Reads a day, `YYYY-MM-DD`, with or without a time after it.
pub(super) fn day(key: &str, value: &Value) -> Result<String, Mem0Error> {
    let text = value.as_str().unwrap_or_default();
    let day = text.split_once('T').map_or(text, |(day, _)| day);
    let date = Some(day).filter(|day| day.len() == 10).and_then(|day| day.parse::<jiff::civil::Date>().ok());
    let invalid = || Mem0Error::bad_request(format!("{key} must be a day, written as YYYY-MM-DD"));
    date.map(|date| date.to_string()).ok_or_else(invalid)
}
