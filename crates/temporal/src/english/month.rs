//! Months and days of a month: `May 7th, 2023`, `the 7th of May`, `in May`, `2023-05-07`.

use jiff::civil::Date;

use super::words::{Month, WORDS, month};
use crate::{
    calendar::Stretch,
    characters::is_latin,
    numbers,
    reading::{FoundDate, Reader},
};

/// `2023-05-07`, `2023/5/7`, `2023.5.7`.
pub(super) fn in_digits(reader: &Reader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let (end, year) = numbers::digits(scan, at)?;
    let sign = scan.at(end).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let (next, month) = numbers::digits(scan, end + 1)?;
    if !numbers::is_year(year) || scan.at(next) != Some(sign) {
        return None;
    }
    let (last, day) = numbers::digits(scan, next + 1)?;
    let goes_on = scan.at(last) == Some(sign) && scan.at(last + 1).is_some_and(is_latin);
    let date = Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    if goes_on { None } else { Some((last, Stretch::day(date)?.named())) }
}

/// `7 May 2023`, `the 7th of May`.
pub(super) fn day_first(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (end, day) = numbers::digits(reader.scan, at)?;
    let start = reader.next(reader.skip_of(ordinal(reader, end)))?;
    let (month, end) = reader.month_name(start, false)?;
    day_of_month(reader, dot(reader, end, month), month, day)
}

/// `in May`, `since March 2020`.
pub(super) fn after_word(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at).filter(|(word, _)| WORDS.before_month.contains(word))?;
    let start = reader.next(end)?;
    let (month, end) = reader.month_name(start, WORDS.only_before_month.contains(word))?;
    if !month.full {
        return None;
    }
    let dated = with_day(reader, start).or_else(|| with_year(reader, start));
    let (end, stretch) = dated.or_else(|| Some((end, reader.reference.latest_month(month.number)?)))?;
    Some((end, reader.extended_by_since(word, stretch)))
}

/// `May 7`, `May 7th, 2023`.
pub(super) fn with_day(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let month = month(word)?;
    let next = reader.next(dot(reader, end, month))?;
    let (last, day) = numbers::digits(reader.scan, next)?;
    if !(1..=31).contains(&day) || last - next > 2 {
        return None;
    }
    let after = ordinal(reader, last);
    let plain = after == last;
    // "may 7 people" and "march 5 miles" count something else.
    let may_count = month.verb && plain && (!reader.scan.is_upper(at) || !ends_sentence(reader, last));
    let found = day_of_month(reader, after, month, day)?;
    // A year after it makes the day certain.
    let certain = !may_count && !reader.is_followed_by_digit(after, ".,:%/-");
    (certain || !found.1.relative).then_some(found)
}

/// `May 2023`, `May of 2023`.
pub(super) fn with_year(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let month = month(word)?;
    let end = dot(reader, end, month);
    let (last, year) = reader.year(reader.skip_of(end))?;
    Some((last, Stretch::month(year, month.number)?.named()))
}

/// Reads the year that may follow the day of a month.
fn day_of_month(reader: &Reader<'_>, end: usize, month: Month, day: i64) -> FoundDate {
    let day = i8::try_from(day).ok()?;
    let comma = if reader.scan.at(end) == Some(',') { end + 1 } else { end };
    match reader.year(comma) {
        Some((last, year)) => Some((last, Stretch::day(Date::new(year, month.number, day).ok()?)?.named())),
        None => Some((end, reader.reference.latest_day(month.number, day)?)),
    }
}

/// Returns true if nothing that could be counted follows: the end, a sign, or a word of grammar.
fn ends_sentence(reader: &Reader<'_>, end: usize) -> bool {
    let Some(next) = reader.next(end) else { return true };
    match reader.word(next) {
        Some((word, _)) => WORDS.grammar.contains(word),
        None => !reader.scan.at(next).is_some_and(char::is_alphanumeric),
    }
}

fn ordinal(reader: &Reader<'_>, end: usize) -> usize {
    reader.scan.one_of(end, &WORDS.ordinals).map_or(end, |(end, _)| end)
}

/// Returns the index after the dot of an abbreviation.
fn dot(reader: &Reader<'_>, end: usize, month: Month) -> usize {
    if !month.full && reader.scan.at(end) == Some('.') { end + 1 } else { end }
}
