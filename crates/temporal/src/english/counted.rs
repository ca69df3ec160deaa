//! Dates that count units: `three weeks ago`, `two days before May 7`, `the past three days`.

use super::{
    grammar::{count_starts, with_article},
    words,
};
use crate::{
    calendar::{Count, Stretch, nearest_weekday},
    date_starts::{DateStart, first_words},
    reading::{DateReader, FoundDate},
};

const DAYS_BUT_ONE: [([&str; 3], i64); 2] = [(["day", "before", "yesterday"], -2), (["day", "after", "tomorrow"], 2)];
const PAST: &str = "past";
const LAST: &str = "last";

pub(super) fn day_but_one_starts() -> Vec<DateStart> {
    with_article(first_words(DAYS_BUT_ONE.iter().map(|(words, _)| words[0])))
}

pub(super) fn weekday_starts() -> Vec<DateStart> {
    with_article(first_words(words::weekdays()))
}

pub(super) fn counted_starts() -> Vec<DateStart> {
    with_article(count_starts())
}

pub(super) fn past_starts() -> Vec<DateStart> {
    with_article(first_words([PAST]))
}

pub(super) fn past_or_last_starts() -> Vec<DateStart> {
    with_article(first_words([PAST, LAST]))
}

/// `three weeks ago`, `a fortnight ago`.
pub(super) fn ago(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, count) = reader.count(at)?;
    let (end, count, unit) = reader.counted_unit(end, count)?;
    let (_, end) = reader.next_word_in(end, &["ago"])?;
    Some((end, reader.reference.ago(count, unit)?))
}

/// `two Fridays ago`.
pub(super) fn weekdays_ago(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, Count::Exactly(count)) = reader.count(at)? else { return None };
    let (word, end) = reader.next_word(end)?;
    let weekday = words::weekday(word.strip_suffix('s')?)?;
    let (_, end) = reader.next_word_in(end, &["ago"])?;
    Some((end, reader.reference.weekdays_ago(weekday, count)?))
}

/// `the day before yesterday`, `the day after tomorrow`.
pub(super) fn day_but_one(reader: &DateReader<'_>, at: usize) -> FoundDate {
    reader.nested()?;
    let start = reader.skip_the(at)?;
    DAYS_BUT_ONE
        .into_iter()
        .find_map(|(words, offset)| Some((reader.phrase(start, words)?, reader.reference.day(offset)?)))
}

/// Reads "before" or "after" with the date that follows. Returns the index after the date, its stretch, and true for
/// "after".
fn before_or_after_date(reader: &DateReader<'_>, end: usize) -> Option<(usize, Stretch, bool)> {
    let nested = reader.nested()?;
    let (word, end) = reader.next_word_in(end, &["before", "after"])?;
    let date = nested.date(reader.next_word_start(end)?)?;
    Some((date.end, date.stretch, word == "after"))
}

/// `the Friday before 15 July 2023`.
pub(super) fn weekday_before_or_after(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(reader.skip_the(at)?)?;
    let weekday = words::weekday(word)?;
    let (end, stretch, later) = before_or_after_date(reader, end)?;
    let origin = if later { stretch.until.date().yesterday().ok()? } else { stretch.from.date() };
    let day = Stretch::day(nearest_weekday(origin, weekday, later)?)?;
    Some((end, Stretch { relative: stretch.relative, ..day }))
}

/// `two days before May 7`, `the week after 3 June`.
pub(super) fn counted_before_or_after(reader: &DateReader<'_>, at: usize) -> FoundDate {
    if day_but_one(reader, at).is_some() {
        return None;
    }
    let start = reader.skip_the(at)?;
    let is_unit = reader.word(start).is_some_and(|(word, _)| matches!(word, "day" | "week" | "month" | "year"));
    let (end, count) = if start > at && is_unit {
        // The unit after "the" is read as the next word.
        (start.checked_sub(1)?, Count::Exactly(1))
    } else {
        reader.count(start)?
    };
    let (end, count, unit) = reader.counted_unit(end, count)?;
    let (end, stretch, later) = before_or_after_date(reader, end)?;
    Some((end, stretch.shifted(count, unit, later)?))
}

/// Reads "past" or "last", with or without "the". Returns the word and the index after it.
fn past_or_last<'s>(reader: &DateReader<'s>, at: usize) -> Option<(&'s str, usize)> {
    let (word, end) = reader.word(reader.skip_the(at)?)?;
    [PAST, LAST].contains(&word).then_some((word, end))
}

/// `the past week`.
pub(super) fn past_unit(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (_, end) = past_or_last(reader, at).filter(|(word, _)| *word == PAST)?;
    let (end, unit) = reader.unit(end)?;
    Some((end, reader.reference.last(Count::Exactly(1), unit)?))
}

/// `the past three days`, `the last few weeks`.
pub(super) fn last_units(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (_, end) = past_or_last(reader, at)?;
    let (end, count) = reader.count(reader.next_word_start(end)?)?;
    let (end, count, unit) = reader.counted_unit(end, count)?;
    // "the last two weeks of May" are in May.
    let of_follows = reader.next_word_in(end, &["of"]).is_some();
    if of_follows || count == Count::Exactly(0) { None } else { Some((end, reader.reference.last(count, unit)?)) }
}
