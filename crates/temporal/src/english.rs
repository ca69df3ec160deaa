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
    DateRule { id: "en.day.digits", starts: numbers::digit_starts, read: month::in_digits },
    DateRule { id: "en.offset.day-but-one", starts: counted::day_but_one_starts, read: counted::day_but_one },
    DateRule { id: "en.offset.weekday", starts: counted::weekday_starts, read: counted::weekday_before_or_after },
    DateRule { id: "en.offset.counted", starts: counted::counted_starts, read: counted::counted_before_or_after },
    DateRule { id: "en.ago", starts: grammar::count_starts, read: counted::ago },
    DateRule { id: "en.ago.weekday", starts: grammar::count_starts, read: counted::weekdays_ago },
    DateRule { id: "en.day.near", starts: near::named_day_starts, read: near::named_day },
    DateRule { id: "en.day.tonight", starts: near::tonight_starts, read: near::tonight },
    DateRule { id: "en.day.part", starts: near::part_starts, read: near::part_of_near_day },
    DateRule {
        id: "en.relative.over-weekend",
        starts: relative::over_the_weekend_starts,
        read: relative::over_the_weekend,
    },
    DateRule { id: "en.relative.unit", starts: relative::direction_starts, read: relative::unit },
    DateRule { id: "en.relative.weekend", starts: relative::direction_starts, read: relative::weekend },
    DateRule { id: "en.relative.weekday", starts: relative::direction_starts, read: relative::weekday },
    DateRule { id: "en.relative.season", starts: relative::direction_starts, read: relative::season },
    DateRule { id: "en.relative.month", starts: relative::direction_starts, read: relative::month },
    DateRule { id: "en.relative.holiday", starts: relative::direction_starts, read: relative::holiday },
    DateRule { id: "en.rolling.unit", starts: counted::past_starts, read: counted::past_unit },
    DateRule { id: "en.rolling.counted", starts: counted::past_or_last_starts, read: counted::last_units },
    DateRule { id: "en.month.day-first", starts: numbers::digit_starts, read: month::day_first },
    DateRule { id: "en.month.after-word", starts: month::after_word_starts, read: month::after_word },
    DateRule { id: "en.month.day", starts: month::name_starts, read: month::with_day },
    DateRule { id: "en.month.year", starts: month::name_starts, read: month::with_year },
    DateRule { id: "en.year.season", starts: year::season_starts, read: year::season_of_year },
    DateRule { id: "en.year.after-word", starts: year::after_word_starts, read: year::after_word },
    DateRule { id: "en.year.holiday", starts: year::holiday_starts, read: year::holiday_of_year },
    DateRule { id: "en.recent", starts: near::recent_starts, read: near::recent },
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
