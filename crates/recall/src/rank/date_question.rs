//! Queries that ask for a time, and texts that name one.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use memory_engine_core::{Phrases, Record};
use memory_engine_temporal::{Exactness, windows};
use memory_engine_text::Words;
use serde::Deserialize;

memory_engine_text::data!(DATA: DateQuestions = "date_questions.toml");

#[derive(Debug, Deserialize)]
struct DateQuestions {
    english: Words,
    chinese: Words,
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(DATA.english.iter().chain(DATA.chinese.iter())));

/// Returns true if a query asks when something happened.
pub(super) fn asks_for_a_date(query: &str) -> bool {
    PHRASES.find(query).is_some()
}

/// Returns true if the text of a record names a date, not only a direction such as "recently". `default_zone` is that
/// of a record without a zone of its own.
pub(super) fn names_a_date(record: &Record, default_zone: &TimeZone) -> bool {
    let own = record.zone();
    windows(&record.text, record.occurred_at, own.as_ref().unwrap_or(default_zone))
        .iter()
        .any(|window| window.exactness != Exactness::Rough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_questions_are_recognised_in_both_languages() {
        for query in ["When did she move?", "what year was it", "我们什么时候去的？", "她哪天生日", "你何時出發"]
        {
            assert!(asks_for_a_date(query), "{query}");
        }
        for query in ["Where did she move?", "whenever", "她生日送什么", "what a day"] {
            assert!(!asks_for_a_date(query), "{query}");
        }
    }
}
