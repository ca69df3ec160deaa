//! Years, and months, seasons and holidays with their year: 去年夏天, 今年春节, 2023年5月.

use super::{
    month,
    words::{WORDS, offset_word, offset_word_starts},
};
use crate::{
    calendar::Stretch,
    date_starts::DateStart,
    holidays, numbers,
    reading::{DateReader, FoundDate},
    scan::Scan,
};

pub(super) fn relative_starts() -> Vec<DateStart> {
    offset_word_starts(&WORDS.years)
}

/// 去年, 去年夏天, 前年五月七号.
pub(super) fn relative(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (year, end) = offset_word(reader.scan, at, &WORDS.years)?;
    if !year.stands_alone(reader.scan, at, end) || reader.scan.has_any(end, &WORDS.characters.after_year) {
        return None;
    }
    within(reader.scan, end, reader.reference.year(i16::try_from(year.offset).ok()?))
}

/// 2023年5月, 二〇二三年.
pub(super) fn written(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    if scan.is_inside_number(at) {
        return None;
    }
    let (end, year) = numbers::year(scan, at)?;
    let end = scan.word(end, "年")?;
    if scan.has_any(end, &WORDS.characters.after_written_year) {
        return None;
    }
    within(scan, end, year).map(|(end, stretch)| (end, stretch.absolute()))
}

/// 23年5月.
pub(super) fn short(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    if scan.is_inside_number(at) {
        return None;
    }
    let (end, year) = numbers::digits(scan, at).filter(|(end, _)| *end == at + 2)?;
    let end = scan.word(end, "年")?;
    month::of_year(scan, end, 2000 + i16::try_from(year).ok()?).map(|(end, stretch)| (end, stretch.absolute()))
}

/// Reads the part of a year that may follow it: a month with a day, a season, or a holiday.
fn within(scan: &Scan, end: usize, year: i16) -> FoundDate {
    let next = scan.word(end, "的").unwrap_or(end);
    month::of_year(scan, next, year)
        .or_else(|| season(scan, next, year))
        .or_else(|| holidays::of_year(scan, next, year))
        .or_else(|| Some((end, Stretch::year(year)?)))
}

fn season(scan: &Scan, at: usize, year: i16) -> FoundDate {
    WORDS.seasons.iter().find_map(|row| Some((scan.one_of(at, &row.words)?.0, Stretch::season(year, row.season)?)))
}
