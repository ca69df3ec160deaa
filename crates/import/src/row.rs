//! Rows of a source, and the turns that they contain.
//!
//! Reasons: `docs/design/decisions/0050-import-yields-rows.md`.

use jiff::civil::DateTime;
use memory_engine_intake::{IncomingWords, model_words};
use serde_json::{Map, Value};

use crate::error::{ImportError, RowError};

/// One row of a source: a line, an item or a memory.
#[derive(Debug)]
pub struct Row {
    /// Position in the source, for messages, such as `line 5`.
    pub place: String,
    /// Number of the row. It orders turns of the same time.
    pub number: u64,
    /// Size in the unit of the source's total, for progress: bytes, or 1 for an item.
    pub bytes: u64,
    /// Turns of the row. Empty if there is nothing to import.
    pub turns: Result<Vec<ImportedTurn>, RowError>,
}

impl Row {
    /// Returns the row with the own words of its speakers: without what agents added to prompts, tasks of clients and
    /// the replies to them, injected memories, and thoughts of models. Turns without words are left out.
    #[must_use]
    pub fn with_own_words(self) -> Self {
        let mut answers_task = false;
        let own = |turns: Vec<ImportedTurn>| {
            turns.into_iter().filter_map(|turn| turn.with_own_words(&mut answers_task)).collect()
        };
        Self { turns: self.turns.map(own), ..self }
    }
}

/// A turn with the keys of the JSON Lines format of this project (`text`, `id`, `user`, `role`, `time` …).
#[derive(Debug, Default)]
pub struct ImportedTurn {
    /// Keys and values.
    pub keys: Map<String, Value>,
    /// Text that determines the id if there is no key `id`.
    pub seed: String,
    /// Vector of the turn, if the source has one.
    pub vector: Option<Vec<f32>>,
}

impl ImportedTurn {
    /// Returns the turn with the own words of its speaker. Other records, such as facts, are unchanged.
    fn with_own_words(mut self, answers_task: &mut bool) -> Option<Self> {
        let is_turn = self.keys.get("kind").is_none_or(|kind| kind == "turn");
        let Some(Value::String(text)) = self.keys.get("text").filter(|_| is_turn) else { return Some(self) };
        if text.trim().is_empty() {
            return Some(self);
        }
        let role = self.keys.get("role").and_then(Value::as_str).unwrap_or_default();
        let words = match role {
            "assistant" if *answers_task => None,
            "assistant" => Some(model_words(text)).filter(|words| !words.trim().is_empty()),
            "" | "user" | "participant" => {
                let message = IncomingWords::of(text);
                *answers_task = message == IncomingWords::ClientTask;
                message.own_words()
            }
            _ => return Some(self),
        }?;
        if words != *text {
            // The vector is that of the whole text.
            self.vector = None;
            self.set("text", words);
        }
        Some(self)
    }

    /// Sets a key. Ignores null.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.keys.insert(key.to_owned(), value);
        }
    }

    /// Sets a key unless it is set. Ignores null.
    pub(crate) fn set_if_missing(&mut self, key: &str, value: impl Into<Value>) {
        if !self.keys.contains_key(key) {
            self.set(key, value);
        }
    }
}

/// The rows of a source, read one after another. An error ends the iteration.
pub type ImportRows = Box<dyn Iterator<Item = Result<Row, ImportError>>>;

/// The rows of a stream.
#[must_use]
pub struct SourceRows {
    /// The rows.
    pub rows: ImportRows,
    /// Says what the file lacks, if it is one of several pages.
    pub notice: Option<&'static str>,
}

impl SourceRows {
    /// Creates the rows of a whole file.
    pub(crate) fn new(rows: impl Iterator<Item = Result<Row, ImportError>> + 'static) -> Self {
        Self { rows: Box::new(rows), notice: None }
    }
}

/// Removes the first of these keys that has a value, and returns the value. Keeps the other keys.
pub(crate) fn take_first(keys: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    let name = names.iter().find(|name| keys.get(**name).is_some_and(|value| !is_blank(value)))?;
    keys.remove(*name)
}

/// Returns true for null and for a text without characters other than white space.
pub(crate) fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// Returns the integer that a value is, or that its text contains.
pub(crate) fn parse_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Converts a time of another program to the time format of the JSON Lines format. Numbers are seconds or milliseconds
/// since 1970. Returns other values unchanged.
pub fn convert_time(value: &Value) -> Value {
    // A short number in a text is a year or a date, such as 2024 or 20240712.
    let number_in_text =
        || value.as_str().and_then(|text| text.trim().parse::<f64>().ok()).filter(|number| number.abs() >= 1e8);
    let number = value.as_f64().or_else(number_in_text);
    let Some(number) = number else {
        return value.as_str().and_then(parse_silly_tavern_time).map_or_else(|| value.clone(), Value::from);
    };
    let seconds = if number.abs() >= 1e11 { number / 1e3 } else { number };
    let moment = jiff::Timestamp::from_microsecond((seconds * 1e6).round() as i64);
    moment.map_or_else(|_| value.clone(), |moment| moment.to_string().into())
}

/// Parses the time formats of SillyTavern: `June 19, 2023 2:20pm` without a zone, and `2024-07-12@01h31m37s123ms` or
/// `2024-6-5 @14h 56m 50s 682ms` in UTC.
fn parse_silly_tavern_time(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((date, clock)) = text.split_once('@') {
        let mut numbers = clock.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let mut next_number = || numbers.next().map(|part| part.parse::<i32>().ok());
        let hour = i8::try_from(next_number()??).ok()?;
        let minute = i8::try_from(next_number()??).ok()?;
        let second = i8::try_from(next_number()??).ok()?;
        let milliseconds = next_number().flatten().unwrap_or(0);
        let mut date = date.trim().split('-').map(|part| part.parse::<i16>().ok());
        let year = date.next()??;
        let month = date.next()??.try_into().ok()?;
        let day = date.next()??.try_into().ok()?;
        let nanoseconds = milliseconds.checked_mul(1_000_000)?;
        let moment = DateTime::new(year, month, day, hour, minute, second, nanoseconds).ok()?;
        return Some(format!("{moment}Z"));
    }
    let lowercase = text.to_lowercase().replace(" pm", "pm").replace(" am", "am");
    DateTime::strptime("%B %d, %Y %I:%M%p", lowercase).ok().map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turn(role: &str, kind: Option<&str>, text: &str) -> ImportedTurn {
        let mut turn = ImportedTurn { vector: Some(vec![1.0]), ..ImportedTurn::default() };
        turn.set("role", role);
        turn.set("kind", kind);
        turn.set("text", text);
        turn
    }

    #[test]
    fn rows_keep_the_own_words_of_their_speakers() {
        let turns = vec![
            turn("user", None, "<system-reminder>a</system-reminder>\nhello"),
            turn("user", None, "Generate a short title for this conversation."),
            turn("assistant", None, "A title"),
            turn("user", Some("turn"), "[Request interrupted by user]"),
            turn("assistant", None, "<think>a</think>\n你好"),
            turn("user", Some("fact"), "[Request interrupted by user]"),
            turn("system", None, "<think>a</think>"),
            turn("user", None, " what is <think>? "),
        ];
        let row = Row { place: String::new(), number: 1, bytes: 1, turns: Ok(turns) }.with_own_words();
        let turns = row.turns.unwrap();
        let texts: Vec<(&str, bool)> =
            turns.iter().map(|turn| (turn.keys["text"].as_str().unwrap(), turn.vector.is_some())).collect();
        assert_eq!(
            texts,
            [
                ("hello", false),
                ("你好", false),
                ("[Request interrupted by user]", true),
                ("<think>a</think>", true),
                (" what is <think>? ", true),
            ]
        );
    }

    #[test]
    fn time_formats_of_other_programs_are_converted() {
        for (original, expected) in [
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
            assert_eq!(convert_time(&original), json!(expected), "{original}");
        }
    }
}
