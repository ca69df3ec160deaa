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
    DateRule { id: "zh.day.night", starts: day::night_starts, read: day::night },
    DateRule { id: "zh.day.near", starts: day::near_starts, read: day::near },
    DateRule { id: "zh.week.weekend", starts: week::starts, read: week::weekend },
    DateRule { id: "zh.week.weekday", starts: week::starts, read: week::weekday },
    DateRule { id: "zh.week.whole", starts: week::starts, read: week::whole },
    DateRule { id: "zh.month.relative", starts: month::relative_starts, read: month::relative },
    DateRule { id: "zh.year.relative", starts: year::relative_starts, read: year::relative },
    DateRule { id: "zh.year.written", starts: numbers::year_starts, read: year::written },
    DateRule { id: "zh.year.short", starts: numbers::digit_starts, read: year::short },
    DateRule { id: "zh.month.day", starts: numbers::number_starts, read: month::with_day },
    DateRule { id: "zh.month.alone", starts: numbers::number_starts, read: month::alone },
    DateRule { id: "zh.ago", starts: counted::count_starts, read: counted::ago },
    DateRule { id: "zh.recent.just-now", starts: recent::just_now_starts, read: recent::just_now },
    DateRule { id: "zh.recent.counted", starts: recent::counted_starts, read: recent::counted },
    DateRule { id: "zh.recent.lately", starts: recent::lately_starts, read: recent::lately },
    DateRule { id: "zh.recent.these-days", starts: recent::these_days_starts, read: recent::these_days },
    DateRule { id: "zh.recent.days", starts: recent::days_starts, read: recent::days },
    DateRule { id: "zh.recent.months", starts: recent::months_starts, read: recent::months },
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
