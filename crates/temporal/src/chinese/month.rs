//! Months and days of a month: 上个月, 这个月五号, 五月七号, 5月.

use jiff::civil::Date;

use super::{
    day::part,
    words::{WORDS, offset_word, offset_word_starts},
};
use crate::{
    calendar::Stretch,
    characters::is_numeral,
    date_starts::DateStart,
    numbers::number,
    reading::{DateReader, FoundDate},
    scan::Scan,
};

pub(super) fn relative_starts() -> Vec<DateStart> {
    offset_word_starts(&WORDS.months)
}

/// 上个月, 这个月五号.
pub(super) fn relative(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let (month, end) = offset_word(scan, at, &WORDS.months)?;
    if !month.stands_alone(scan, at, end) || scan.has_any(end, &WORDS.characters.after_month) {
        return None;
    }
    let month = reader.reference.month(month.offset)?;
    match day_of_month(scan, end) {
        Some((end, day)) => {
            let first = month.from.date();
            part(scan, end, Stretch::day(Date::new(first.year(), first.month(), day).ok()?)?)
        }
        None => Some((end, month)),
    }
}

/// 五月七号.
pub(super) fn with_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, month) = month_without_year(reader.scan, at)?;
    let (end, day) = day_of_month(reader.scan, end)?;
    part(reader.scan, end, reader.reference.latest_day(month, day)?)
}

/// 5月, 五月份.
pub(super) fn alone(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let (end, month) = month_without_year(scan, at)?;
    if day_of_month(scan, end).is_some() || scan.has_any_before(at, &WORDS.characters.before_month) {
        return None;
    }
    let suffix_end = scan.word(end, "份");
    let is_other_word = scan.at(end).is_some_and(is_numeral) || scan.has_any(end, &WORDS.characters.after_month_number);
    if suffix_end.is_none() && is_other_word {
        return None;
    }
    Some((suffix_end.unwrap_or(end), reader.reference.latest_month(month)?))
}

/// Reads a month of a year, with a day and a part of it if they follow.
pub(super) fn of_year(scan: &Scan, at: usize, year: i16) -> FoundDate {
    let (end, month) = month_number(scan, at)?;
    match day_of_month(scan, end) {
        Some((end, day)) => part(scan, end, Stretch::day(Date::new(year, month, day).ok()?)?),
        None => Some((scan.word(end, "份").unwrap_or(end), Stretch::month(year, month)?)),
    }
}

/// Reads a month without a year before it. The month of 1806年9月 is not read, because such a year is not supported.
fn month_without_year(scan: &Scan, at: usize) -> Option<(usize, i8)> {
    let has_year = scan.has_any_before(at, &WORDS.characters.before_unread_year);
    if scan.is_inside_number(at) || has_year { None } else { month_number(scan, at) }
}

fn month_number(scan: &Scan, at: usize) -> Option<(usize, i8)> {
    let (end, month) = number(scan, at)?;
    let end = scan.word(end, "月")?;
    (1..=12).contains(&month).then_some((end, i8::try_from(month).ok()?))
}

/// Reads a day of the month with 号 or 日.
fn day_of_month(scan: &Scan, at: usize) -> Option<(usize, i8)> {
    let (end, day) = number(scan, at)?;
    let (end, _) = scan.one_of(end, &WORDS.day_marks)?;
    let is_building = scan.has_any(end, &WORDS.characters.after_day_of_month);
    (!is_building && (1..=31).contains(&day)).then_some((end, i8::try_from(day).ok()?))
}
