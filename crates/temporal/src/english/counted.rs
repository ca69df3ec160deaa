//! Dates that count units: `three weeks ago`, `two days before May 7`, `the past three days`.

use super::words;
use crate::{
    calendar::{Count, Stretch, nearest_weekday},
    reading::{FoundDate, Reader},
};

/// `three weeks ago`.
pub(super) fn ago(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (end, count) = reader.count(at)?;
    let (end, unit) = reader.unit(end)?;
    let (_, end) = reader.then(end, &["ago"])?;
    Some((end, reader.reference.ago(count, unit)?))
}

/// `the day before yesterday`, `the day after tomorrow`.
pub(super) fn day_but_one(reader: &Reader<'_>, at: usize) -> FoundDate {
    reader.nested()?;
    let start = reader.skip_the(at)?;
    [(["day", "before", "yesterday"], -2), (["day", "after", "tomorrow"], 2)]
        .into_iter()
        .find_map(|(words, offset)| Some((reader.phrase(start, words)?, reader.reference.day(offset)?)))
}

/// Reads "before" or "after" with the date that follows: the date, and whether it is later than that.
fn anchor(reader: &Reader<'_>, end: usize) -> Option<(usize, Stretch, bool)> {
    let nested = reader.nested()?;
    let (word, end) = reader.then(end, &["before", "after"])?;
    let date = nested.date(reader.next(end)?)?;
    Some((date.end, date.stretch, word == "after"))
}

/// `the Friday before 15 July 2023`.
pub(super) fn weekday_before_or_after(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(reader.skip_the(at)?)?;
    let weekday = words::weekday(word)?;
    let (end, stretch, later) = anchor(reader, end)?;
    let from = if later { stretch.until.date().yesterday().ok()? } else { stretch.from.date() };
    let day = Stretch::day(nearest_weekday(from, weekday, later)?)?;
    Some((end, Stretch { relative: stretch.relative, ..day }))
}

/// `two days before May 7`, `the week after 3 June`.
pub(super) fn counted_before_or_after(reader: &Reader<'_>, at: usize) -> FoundDate {
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
    let (end, unit) = reader.unit(end)?;
    let (end, stretch, later) = anchor(reader, end)?;
    Some((end, stretch.shifted(count, unit, later)?))
}

/// Reads "past" or "last", after "the" or alone: the word and the index after it.
fn rolling<'s>(reader: &Reader<'s>, at: usize) -> Option<(&'s str, usize)> {
    let (word, end) = reader.word(reader.skip_the(at)?)?;
    matches!(word, "past" | "last").then_some((word, end))
}

/// `the past week`.
pub(super) fn past_unit(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (_, end) = rolling(reader, at).filter(|(word, _)| *word == "past")?;
    let (end, unit) = reader.unit(end)?;
    Some((end, reader.reference.last(Count::Exactly(1), unit)?))
}

/// `the past three days`, `the last few weeks`.
pub(super) fn last_units(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (_, end) = rolling(reader, at)?;
    let (end, count) = reader.count(reader.next(end)?)?;
    let (end, unit) = reader.unit(end)?;
    // "the last two weeks of May" are in May.
    let of = reader.then(end, &["of"]).is_some();
    if of || count == Count::Exactly(0) { None } else { Some((end, reader.reference.last(count, unit)?)) }
}
