//! Reads dates in Chinese.

mod counted;
mod day;
mod month;
mod recent;
mod week;
mod words;
mod year;

use crate::reading::{DateReading, Reader, Rule};

/// The rules for Chinese dates. Of two that read equally long dates the later one counts.
pub(crate) const RULES: &[Rule] = &[
    Rule { id: "zh.day.night", read: day::night },
    Rule { id: "zh.day.near", read: day::near },
    Rule { id: "zh.week.weekend", read: week::weekend },
    Rule { id: "zh.week.weekday", read: week::weekday },
    Rule { id: "zh.week.whole", read: week::whole },
    Rule { id: "zh.month.relative", read: month::relative },
    Rule { id: "zh.year.relative", read: year::relative },
    Rule { id: "zh.year.written", read: year::written },
    Rule { id: "zh.year.short", read: year::short },
    Rule { id: "zh.month.day", read: month::with_day },
    Rule { id: "zh.month.alone", read: month::alone },
    Rule { id: "zh.ago", read: counted::ago },
    Rule { id: "zh.recent.just-now", read: recent::just_now },
    Rule { id: "zh.recent.counted", read: recent::counted },
    Rule { id: "zh.recent.lately", read: recent::lately },
    Rule { id: "zh.recent.these-days", read: recent::these_days },
    Rule { id: "zh.recent.days", read: recent::days },
    Rule { id: "zh.recent.months", read: recent::months },
];

/// Reads the longest date that begins at a place, with what is counted from it: 昨天的三天前.
pub(crate) fn parse(reader: Reader<'_>, begin: usize) -> Option<DateReading> {
    // No date begins with a Latin letter, a blank or a sign.
    if reader.scan.at(begin).is_none_or(|c| c.is_ascii() && !c.is_ascii_digit()) {
        return None;
    }
    let mut read = reader.date(begin)?;
    if let Some((end, stretch)) = counted::before_or_after(&reader, read.end, read.stretch) {
        read.end = end;
        read.stretch = stretch;
    }
    Some(read)
}
