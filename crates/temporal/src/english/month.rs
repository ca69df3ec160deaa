//! Months and days of a month: `May 7th, 2023`, `the 7th of May`, `in May`, `2023-05-07`.

use jiff::civil::Date;

use super::words::{Month, WORDS, month, month_names};
use crate::{
    calendar::Stretch,
    characters::is_latin,
    date_starts::{DateStart, first_words},
    numbers,
    reading::{DateReader, FoundDate},
};

pub(super) fn after_word_starts() -> Vec<DateStart> {
    first_words(WORDS.before_month.iter())
}

pub(super) fn name_starts() -> Vec<DateStart> {
    first_words(month_names())
}

/// `2023-05-07`, `2023/5/7`, `2023.5.7`, `7.5.2023`, `13/5/2023`, `5/13/2023`.
pub(super) fn in_digits(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let (end, first) = numbers::digits(scan, at)?;
    let sign = scan.at(end).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let (next, second) = numbers::digits(scan, end + 1)?;
    if scan.at(next) != Some(sign) {
        return None;
    }
    let (last, third) = numbers::digits(scan, next + 1)?;
    // Full stops stand in dates that begin with the day. With another sign, the month may come first.
    let begins_with_day = sign == '.' || first > 12 || first == second;
    let (year, month, day) = match (numbers::is_year(first), numbers::is_year(third)) {
        (true, _) => (first, second, third),
        (false, true) if begins_with_day => (third, second, first),
        (false, true) if second > 12 => (third, first, second),
        (false, _) => return None,
    };
    let continues = scan.at(last) == Some(sign) && scan.at(last + 1).is_some_and(is_latin);
    let date = Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    if continues { None } else { Some((last, Stretch::day(date)?.absolute())) }
}

/// `7 May 2023`, `the 7th of May`.
pub(super) fn day_first(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, day) = numbers::digits(reader.scan, at)?;
    let start = reader.next_word_start(reader.skip_of(skip_ordinal(reader, end)))?;
    let (month, end) = reader.month_name(start, false)?;
    day_of_month(reader, skip_dot(reader, end, month), month, day)
}

/// `in May`, `since March 2020`.
pub(super) fn after_word(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at).filter(|(word, _)| WORDS.before_month.contains(word))?;
    let start = reader.next_word_start(end)?;
    let (month, end) = reader.month_name(start, WORDS.only_before_month.contains(word))?;
    if !month.full {
        return None;
    }
    let dated = with_day(reader, start).or_else(|| with_year(reader, start));
    let (end, stretch) = dated.or_else(|| Some((end, reader.reference.latest_month(month.number)?)))?;
    Some((end, reader.extended_by_since(word, stretch)))
}

/// `May 7`, `May 7th, 2023`.
pub(super) fn with_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let month = month(word)?;
    let next = reader.next_word_start(skip_dot(reader, end, month))?;
    let (last, day) = numbers::digits(reader.scan, next)?;
    if !(1..=31).contains(&day) || last - next > 2 {
        return None;
    }
    let after = skip_ordinal(reader, last);
    let has_ordinal_ending = after > last;
    // "may 7 people" and "march 5 miles" count something else.
    let may_count = month.verb
        && !has_ordinal_ending
        && (!reader.scan.is_upper(at) || !is_followed_by_nothing_counted(reader, last));
    let (end, stretch) = day_of_month(reader, after, month, day)?;
    let is_certain = !may_count && !reader.is_followed_by_digit(after, ".,:%/-");
    let has_year = !stretch.relative;
    (is_certain || has_year).then_some((end, stretch))
}

/// `May 2023`, `May of 2023`.
pub(super) fn with_year(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let month = month(word)?;
    let end = skip_dot(reader, end, month);
    let (last, year) = reader.year(reader.skip_of(end))?;
    Some((last, Stretch::month(year, month.number)?.absolute()))
}

/// Reads the year that may follow the day of a month. Without one, the day is the latest one in the past.
fn day_of_month(reader: &DateReader<'_>, end: usize, month: Month, day: i64) -> FoundDate {
    let day = i8::try_from(day).ok()?;
    let comma = if reader.scan.at(end) == Some(',') { end + 1 } else { end };
    match reader.year(comma) {
        Some((last, year)) => Some((last, Stretch::day(Date::new(year, month.number, day).ok()?)?.absolute())),
        None => Some((end, reader.reference.latest_day(month.number, day)?)),
    }
}

/// Returns true if no countable noun can follow: at the end, before a sign, and before a function word.
fn is_followed_by_nothing_counted(reader: &DateReader<'_>, end: usize) -> bool {
    let Some(next) = reader.next_word_start(end) else { return true };
    match reader.word(next) {
        Some((word, _)) => WORDS.grammar.contains(word),
        None => !reader.scan.at(next).is_some_and(char::is_alphanumeric),
    }
}

/// Returns the index after the ending of an ordinal number such as "7th".
fn skip_ordinal(reader: &DateReader<'_>, end: usize) -> usize {
    reader.scan.one_of(end, &WORDS.ordinals).map_or(end, |(end, _)| end)
}

/// Returns the index after the full stop of an abbreviation.
fn skip_dot(reader: &DateReader<'_>, end: usize, month: Month) -> usize {
    if !month.full && reader.scan.at(end) == Some('.') { end + 1 } else { end }
}
