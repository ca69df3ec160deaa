//! Weeks and days of a week: 上周, 上周五晚上, 这周末.

use super::{
    day::part,
    words::{WORDS, offset_word, offset_word_starts},
};
use crate::{
    characters::is_numeral,
    date_starts::DateStart,
    reading::{DateReader, FoundDate},
    scan::Scan,
};

pub(super) fn starts() -> Vec<DateStart> {
    offset_word_starts(&WORDS.weeks)
}

/// Reads a week: the number of weeks from this one, and the index after it.
fn week(scan: &Scan, at: usize) -> Option<(i64, usize)> {
    let (prefix, end) = offset_word(scan, at, &WORDS.weeks)?;
    let counted = scan.word(end, "个");
    let (end, _) = scan.one_of(counted.unwrap_or(end), &WORDS.week_nouns)?;
    let is_other_word = counted.is_none() && scan.has_any(end, &WORDS.characters.after_week);
    (!is_other_word && prefix.stands_alone(scan, at, end)).then_some((prefix.offset, end))
}

/// 上周, 下个星期.
pub(super) fn whole(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, end) = week(reader.scan, at)?;
    Some((end, reader.reference.week(offset)?))
}

/// 这周末.
pub(super) fn weekend(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, end) = week(reader.scan, at)?;
    Some((reader.scan.word(end, "末")?, reader.reference.weekend(offset)?))
}

/// 上周五晚上.
pub(super) fn weekday(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, end) = week(reader.scan, at)?;
    let (end, weekday) = day_of_week(reader.scan, end)?;
    part(reader.scan, end, reader.reference.weekday(offset, weekday)?)
}

/// Reads a day of the week; Monday is 0. The characters after it may make another word of it: 上周一直, 上周日本.
fn day_of_week(scan: &Scan, at: usize) -> Option<(usize, i64)> {
    let (end, weekday) = scan.one_of(at, &WORDS.weekdays)?;
    let characters = &WORDS.characters;
    let is_count = scan.at(end).is_some_and(is_numeral) || scan.has_any(end, &characters.counted);
    let is_other_word = match weekday {
        0 => is_count || scan.has_any(end, &characters.after_monday),
        1..=5 => is_count,
        6 => scan.has_any(end, &characters.after_sunday),
        _ => scan.has_any(end, &characters.after_sunday_as_heaven),
    };
    (!is_other_word).then_some((end, i64::try_from(weekday.min(6)).unwrap_or(6)))
}
