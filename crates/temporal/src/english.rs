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
    reading::{DateReading, Reader, Rule},
};

/// The rules for English dates. Of two that read equally long dates the later one counts.
pub(crate) const RULES: &[Rule] = &[
    Rule { id: "en.day.digits", read: month::in_digits },
    Rule { id: "en.offset.day-but-one", read: counted::day_but_one },
    Rule { id: "en.offset.weekday", read: counted::weekday_before_or_after },
    Rule { id: "en.offset.counted", read: counted::counted_before_or_after },
    Rule { id: "en.ago", read: counted::ago },
    Rule { id: "en.day.near", read: near::named_day },
    Rule { id: "en.day.tonight", read: near::tonight },
    Rule { id: "en.day.part", read: near::part_of_near_day },
    Rule { id: "en.relative.over-weekend", read: relative::over_the_weekend },
    Rule { id: "en.relative.unit", read: relative::unit },
    Rule { id: "en.relative.weekend", read: relative::weekend },
    Rule { id: "en.relative.weekday", read: relative::weekday },
    Rule { id: "en.relative.season", read: relative::season },
    Rule { id: "en.relative.month", read: relative::month },
    Rule { id: "en.relative.holiday", read: relative::holiday },
    Rule { id: "en.rolling.unit", read: counted::past_unit },
    Rule { id: "en.rolling.counted", read: counted::last_units },
    Rule { id: "en.month.day-first", read: month::day_first },
    Rule { id: "en.month.after-word", read: month::after_word },
    Rule { id: "en.month.day", read: month::with_day },
    Rule { id: "en.month.year", read: month::with_year },
    Rule { id: "en.year.season", read: year::season_of_year },
    Rule { id: "en.year.after-word", read: year::after_word },
    Rule { id: "en.year.holiday", read: year::holiday_of_year },
    Rule { id: "en.recent", read: near::recent },
];

/// Reads the date that begins at the word at a place.
pub(crate) fn parse(reader: Reader<'_>, begin: usize) -> Option<DateReading> {
    let read = reader.date(begin)?;
    let next = reader.scan.at(read.end + 1);
    // "yesterdays" is no date, "yesterday's" and "2023-05-07T10:00" are.
    let ends = match reader.scan.at(read.end) {
        Some('_') => false,
        Some('-' | '/') => !next.is_some_and(|c| c.is_ascii_digit()),
        Some('t') => reader.scan.before(read.end).is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !is_latin(c),
        None => true,
    };
    ends.then_some(read)
}
