//! Reads dates in English, and dates in digits.

mod counted;
mod grammar;
mod month;
mod near;
mod relative;
mod words;
mod year;

use crate::{
    characters::is_latin,
    reading::{DateReader, DateReading, DateRule},
};

/// The rules for English dates. Of two that read equally long dates, the later one counts.
pub(crate) const RULES: &[DateRule] = &[
    DateRule { id: "en.day.digits", read: month::in_digits },
    DateRule { id: "en.offset.day-but-one", read: counted::day_but_one },
    DateRule { id: "en.offset.weekday", read: counted::weekday_before_or_after },
    DateRule { id: "en.offset.counted", read: counted::counted_before_or_after },
    DateRule { id: "en.ago", read: counted::ago },
    DateRule { id: "en.day.near", read: near::named_day },
    DateRule { id: "en.day.tonight", read: near::tonight },
    DateRule { id: "en.day.part", read: near::part_of_near_day },
    DateRule { id: "en.relative.over-weekend", read: relative::over_the_weekend },
    DateRule { id: "en.relative.unit", read: relative::unit },
    DateRule { id: "en.relative.weekend", read: relative::weekend },
    DateRule { id: "en.relative.weekday", read: relative::weekday },
    DateRule { id: "en.relative.season", read: relative::season },
    DateRule { id: "en.relative.month", read: relative::month },
    DateRule { id: "en.relative.holiday", read: relative::holiday },
    DateRule { id: "en.rolling.unit", read: counted::past_unit },
    DateRule { id: "en.rolling.counted", read: counted::last_units },
    DateRule { id: "en.month.day-first", read: month::day_first },
    DateRule { id: "en.month.after-word", read: month::after_word },
    DateRule { id: "en.month.day", read: month::with_day },
    DateRule { id: "en.month.year", read: month::with_year },
    DateRule { id: "en.year.season", read: year::season_of_year },
    DateRule { id: "en.year.after-word", read: year::after_word },
    DateRule { id: "en.year.holiday", read: year::holiday_of_year },
    DateRule { id: "en.recent", read: near::recent },
];

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
