//! Reads dates in Chinese.

mod counted;
mod day;
mod month;
mod recent;
mod week;
mod words;
mod year;

use std::sync::LazyLock;

use crate::{
    numbers,
    reading::{DateReader, DateReading, DateRule, RuleIndex},
};

/// The rules for Chinese dates. Of two that read equally long dates, the later one counts.
pub(crate) const RULES: &[DateRule] = &[
    DateRule { id: "zh.day.night", beginnings: day::night_beginnings, read: day::night },
    DateRule { id: "zh.day.near", beginnings: day::near_beginnings, read: day::near },
    DateRule { id: "zh.week.weekend", beginnings: week::beginnings, read: week::weekend },
    DateRule { id: "zh.week.weekday", beginnings: week::beginnings, read: week::weekday },
    DateRule { id: "zh.week.whole", beginnings: week::beginnings, read: week::whole },
    DateRule { id: "zh.month.relative", beginnings: month::relative_beginnings, read: month::relative },
    DateRule { id: "zh.year.relative", beginnings: year::relative_beginnings, read: year::relative },
    DateRule { id: "zh.year.written", beginnings: numbers::year_beginnings, read: year::written },
    DateRule { id: "zh.year.short", beginnings: numbers::digit_beginnings, read: year::short },
    DateRule { id: "zh.month.day", beginnings: numbers::number_beginnings, read: month::with_day },
    DateRule { id: "zh.month.alone", beginnings: numbers::number_beginnings, read: month::alone },
    DateRule { id: "zh.ago", beginnings: counted::count_beginnings, read: counted::ago },
    DateRule { id: "zh.recent.just-now", beginnings: recent::just_now_beginnings, read: recent::just_now },
    DateRule { id: "zh.recent.counted", beginnings: recent::counted_beginnings, read: recent::counted },
    DateRule { id: "zh.recent.lately", beginnings: recent::lately_beginnings, read: recent::lately },
    DateRule { id: "zh.recent.these-days", beginnings: recent::these_days_beginnings, read: recent::these_days },
    DateRule { id: "zh.recent.days", beginnings: recent::days_beginnings, read: recent::days },
    DateRule { id: "zh.recent.months", beginnings: recent::months_beginnings, read: recent::months },
];

/// The index of [`RULES`].
pub(crate) static INDEX: LazyLock<RuleIndex> = LazyLock::new(|| RuleIndex::new(RULES));

/// Reads the longest date that begins at an index, with an offset from it if one follows: 昨天的三天前.
pub(crate) fn parse(reader: DateReader<'_>, begin: usize) -> Option<DateReading> {
    // No date begins with a Latin letter, a space or a sign.
    if reader.scan.at(begin).is_none_or(|c| c.is_ascii() && !c.is_ascii_digit()) {
        return None;
    }
    let mut reading = reader.date(begin)?;
    if let Some((end, stretch)) = counted::offset_from_date(&reader, reading.end, reading.stretch) {
        reading.end = end;
        reading.stretch = stretch;
    }
    Some(reading)
}
