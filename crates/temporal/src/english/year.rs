//! Years, and seasons and holidays with their year: `in 2023`, `the summer of 2022`, `Christmas 2022`.

use super::words::WORDS;
use crate::{
    calendar::Stretch,
    date_starts::{DateStart, first_words},
    holidays,
    reading::{DateReader, FoundDate},
};

pub(super) fn season_starts() -> Vec<DateStart> {
    first_words(WORDS.seasons.keys().map(String::as_str))
}

pub(super) fn after_word_starts() -> Vec<DateStart> {
    first_words(WORDS.before_year.iter())
}

pub(super) fn holiday_starts() -> Vec<DateStart> {
    first_words(holidays::names())
}

/// `summer of 2022`.
pub(super) fn season_of_year(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let season = WORDS.seasons.get(word)?;
    let (end, year) = reader.year(reader.skip_of(end))?;
    Some((end, Stretch::season(year, *season)?.absolute()))
}

/// `in 2023`, `since 2019`.
pub(super) fn after_word(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at).filter(|(word, _)| WORDS.before_year.contains(word))?;
    let (end, year) = reader.year(end)?;
    let is_counted = reader.next_word(end).is_some_and(|(word, _)| WORDS.counted.contains(word));
    if is_counted || reader.is_followed_by_digit(end, ".,:%-/") {
        return None;
    }
    Some((end, reader.extended_by_since(word, Stretch::year(year)?.absolute())))
}

/// `Christmas 2022`, `Halloween of 2021`.
pub(super) fn holiday_of_year(reader: &DateReader<'_>, at: usize) -> FoundDate {
    reader.word(at)?;
    let (end, _) = holidays::of_year(reader.scan, at, reader.reference.year(0))?;
    let end = reader.next_word_in(end, &["of", "in"]).map_or(end, |(_, end)| end);
    let (last, year) = reader.year(end)?;
    Some((last, holidays::of_year(reader.scan, at, year)?.1.absolute()))
}
