//! Reads dates in Chinese.

mod counted;
mod day;
mod month;
mod recent;
mod week;
mod words;
mod year;

use crate::reading::{DateReader, DateReading, DateRule};

/// The rules for Chinese dates. Of two that read equally long dates, the later one counts.
pub(crate) const RULES: &[DateRule] = &[
    DateRule { id: "zh.day.night", read: day::night },
    DateRule { id: "zh.day.near", read: day::near },
    DateRule { id: "zh.week.weekend", read: week::weekend },
    DateRule { id: "zh.week.weekday", read: week::weekday },
    DateRule { id: "zh.week.whole", read: week::whole },
    DateRule { id: "zh.month.relative", read: month::relative },
    DateRule { id: "zh.year.relative", read: year::relative },
    DateRule { id: "zh.year.written", read: year::written },
    DateRule { id: "zh.year.short", read: year::short },
    DateRule { id: "zh.month.day", read: month::with_day },
    DateRule { id: "zh.month.alone", read: month::alone },
    DateRule { id: "zh.ago", read: counted::ago },
    DateRule { id: "zh.recent.just-now", read: recent::just_now },
    DateRule { id: "zh.recent.counted", read: recent::counted },
    DateRule { id: "zh.recent.lately", read: recent::lately },
    DateRule { id: "zh.recent.these-days", read: recent::these_days },
    DateRule { id: "zh.recent.days", read: recent::days },
    DateRule { id: "zh.recent.months", read: recent::months },
];

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
