//! Reads dates in English, and dates in digits.

mod counted;
mod grammar;
mod month;
mod near;
mod relative;
mod words;
mod year;

use std::sync::LazyLock;

use crate::{
    characters::is_latin,
    numbers,
    reading::{DateReader, DateReading, DateRule, RuleIndex},
};

/// The rules for English dates. Of two that read equally long dates, the later one counts.
pub(crate) const RULES: &[DateRule] = &[
    DateRule { id: "en.day.digits", beginnings: numbers::digit_beginnings, read: month::in_digits },
    DateRule { id: "en.offset.day-but-one", beginnings: counted::day_but_one_beginnings, read: counted::day_but_one },
    DateRule {
        id: "en.offset.weekday",
        beginnings: counted::weekday_beginnings,
        read: counted::weekday_before_or_after,
    },
    DateRule {
        id: "en.offset.counted",
        beginnings: counted::counted_beginnings,
        read: counted::counted_before_or_after,
    },
    DateRule { id: "en.ago", beginnings: grammar::count_beginnings, read: counted::ago },
    DateRule { id: "en.day.near", beginnings: near::named_day_beginnings, read: near::named_day },
    DateRule { id: "en.day.tonight", beginnings: near::tonight_beginnings, read: near::tonight },
    DateRule { id: "en.day.part", beginnings: near::part_beginnings, read: near::part_of_near_day },
    DateRule {
        id: "en.relative.over-weekend",
        beginnings: relative::over_the_weekend_beginnings,
        read: relative::over_the_weekend,
    },
    DateRule { id: "en.relative.unit", beginnings: relative::direction_beginnings, read: relative::unit },
    DateRule { id: "en.relative.weekend", beginnings: relative::direction_beginnings, read: relative::weekend },
    DateRule { id: "en.relative.weekday", beginnings: relative::direction_beginnings, read: relative::weekday },
    DateRule { id: "en.relative.season", beginnings: relative::direction_beginnings, read: relative::season },
    DateRule { id: "en.relative.month", beginnings: relative::direction_beginnings, read: relative::month },
    DateRule { id: "en.relative.holiday", beginnings: relative::direction_beginnings, read: relative::holiday },
    DateRule { id: "en.rolling.unit", beginnings: counted::past_beginnings, read: counted::past_unit },
    DateRule { id: "en.rolling.counted", beginnings: counted::past_or_last_beginnings, read: counted::last_units },
    DateRule { id: "en.month.day-first", beginnings: numbers::digit_beginnings, read: month::day_first },
    DateRule { id: "en.month.after-word", beginnings: month::after_word_beginnings, read: month::after_word },
    DateRule { id: "en.month.day", beginnings: month::name_beginnings, read: month::with_day },
    DateRule { id: "en.month.year", beginnings: month::name_beginnings, read: month::with_year },
    DateRule { id: "en.year.season", beginnings: year::season_beginnings, read: year::season_of_year },
    DateRule { id: "en.year.after-word", beginnings: year::after_word_beginnings, read: year::after_word },
    DateRule { id: "en.year.holiday", beginnings: year::holiday_beginnings, read: year::holiday_of_year },
    DateRule { id: "en.recent", beginnings: near::recent_beginnings, read: near::recent },
];

/// The index of [`RULES`].
pub(crate) static INDEX: LazyLock<RuleIndex> = LazyLock::new(|| RuleIndex::new(RULES));

/// Reads the longest date that begins with the word at an index.
pub(crate) fn parse(reader: DateReader<'_>, begin: usize) -> Option<DateReading> {
    let reading = reader.date(begin)?;
    let next = reader.scan.at(reading.end + 1);
    // "yesterdays" is no date, "yesterday's" and "2023-05-07T10:00" are.
    let ends_word = match reader.scan.at(reading.end) {
        Some('_') => false,
        Some('-' | '/') => !next.is_some_and(|c| c.is_ascii_digit()),
        Some('t') => reader.scan.before(reading.end).is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !is_latin(c),
        None => true,
    };
    ends_word.then_some(reading)
}
