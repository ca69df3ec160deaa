//! Rows of a source and the turns in them.

use jiff::civil::DateTime;
use serde_json::{Map, Value};

use crate::error::{ImportError, RowError};

/// One row of a source: a line, an item or a memory.
#[derive(Debug)]
pub struct Row {
    /// Its place, for messages: `line 5`.
    pub place: String,
    /// Its number. Turns of the same time keep this order.
    pub number: u64,
    /// Its share of the size of the source: bytes, or items.
    pub bytes: u64,
    /// Its turns. An empty list means that the row holds nothing to remember.
    pub turns: Result<Vec<ImportedTurn>, RowError>,
}

/// A turn with the keys of the JSON Lines format of this project (`text`, `id`, `user`, `role`, `time` …).
#[derive(Debug, Default)]
pub struct ImportedTurn {
    /// The keys and their values.
    pub keys: Map<String, Value>,
    /// The text from which the id is derived if the turn has no key `id`.
    pub seed: String,
    /// The vector of the turn in its source.
    pub vector: Option<Vec<f32>>,
}

impl ImportedTurn {
    /// Sets a key; null is ignored.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.keys.insert(key.to_owned(), value);
        }
    }

    /// Sets a key that is not set yet; null is ignored.
    pub(crate) fn set_if_missing(&mut self, key: &str, value: impl Into<Value>) {
        if !self.keys.contains_key(key) {
            self.set(key, value);
        }
    }
}

/// The rows of a source, read one after another. An error ends the iteration.
pub type ImportRows = Box<dyn Iterator<Item = Result<Row, ImportError>>>;

/// Removes and returns the first of these keys with a value; the others stay.
pub(crate) fn take(keys: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    let name = names.iter().find(|name| keys.get(**name).is_some_and(|value| !is_nothing(value)))?;
    keys.remove(*name)
}

pub(crate) fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// Reads a whole number, or a text that is one.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Converts a time of another program to the form that the JSON Lines format has. Numbers are seconds or milliseconds
/// since 1970.
pub(crate) fn time(value: &Value) -> Value {
    // A short number in a text is a year or a date, as 2024 or 20240712.
    let written =
        || value.as_str().and_then(|text| text.trim().parse::<f64>().ok()).filter(|number| number.abs() >= 1e8);
    let number = value.as_f64().or_else(written);
    let Some(number) = number else {
        return value.as_str().and_then(written_out).map_or_else(|| value.clone(), Value::from);
    };
    let seconds = if number.abs() >= 1e11 { number / 1e3 } else { number };
    let moment = jiff::Timestamp::from_microsecond((seconds * 1e6).round() as i64);
    moment.map_or_else(|_| value.clone(), |moment| moment.to_string().into())
}

/// Reads the time formats of SillyTavern: `June 19, 2023 2:20pm` without a zone, `2024-07-12@01h31m37s123ms` and
/// `2024-6-5 @14h 56m 50s 682ms` which it reads as UTC.
fn written_out(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((date, clock)) = text.split_once('@') {
        let mut numbers = clock.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let mut next = || numbers.next().map(|part| part.parse::<i32>().ok());
        let (hour, minute, second) = (next()??, next()??, next()??);
        let milliseconds = next().flatten().unwrap_or(0);
        let mut date = date.trim().split('-').map(|part| part.parse::<i16>().ok());
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let part = |n: i32| i8::try_from(n).ok();
        let moment = DateTime::new(
            year,
            month.try_into().ok()?,
            day.try_into().ok()?,
            part(hour)?,
            part(minute)?,
            part(second)?,
            milliseconds.checked_mul(1_000_000)?,
        );
        return Some(format!("{}Z", moment.ok()?));
    }
    let text = text.to_lowercase().replace(" pm", "pm").replace(" am", "am");
    DateTime::strptime("%B %d, %Y %I:%M%p", text).ok().map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_as_other_programs_write_them() {
        for (written, read) in [
            (json!("June 19, 2023 2:20pm"), "2023-06-19T14:20:00"),
            (json!("January 3, 2024 12:05 am"), "2024-01-03T00:05:00"),
            (json!("2024-07-12@01h31m37s123ms"), "2024-07-12T01:31:37.123Z"),
            (json!("2024-7-12@01h31m37s"), "2024-07-12T01:31:37Z"),
            (json!("2024-6-5 @14h 56m 50s 682ms"), "2024-06-05T14:56:50.682Z"),
            (json!(1_771_344_000), "2026-02-17T16:00:00Z"),
            (json!(1_771_344_000_250_u64), "2026-02-17T16:00:00.25Z"),
            (json!("1771344000.5"), "2026-02-17T16:00:00.5Z"),
            (json!("2026-02-16T20:00:00+08:00"), "2026-02-16T20:00:00+08:00"),
            (json!("昨天"), "昨天"),
        ] {
            assert_eq!(time(&written), json!(read), "{written}");
        }
    }
}
