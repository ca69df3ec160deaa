//! Days near today, and times shortly before now.

use super::words::WORDS;
use crate::{
    calendar::{Count, DayPart},
    date_starts::{DateStart, first_words},
    reading::{DateReader, FoundDate},
    window::Exactness,
};

/// Days near today: the number of days from today, and true if a part of the day may follow.
const NAMED_DAYS: [(&str, i64, bool); 3] = [("yesterday", -1, true), ("today", 0, false), ("tomorrow", 1, true)];
const TONIGHT: &str = "tonight";
/// Words before a part of a day, with the number of days from today and the parts.
const PARTS_OF_NEAR_DAYS: [(&str, i64, &[&str]); 2] =
    [("this", 0, &["morning", "afternoon", "evening"]), ("last", -1, &["night", "evening"])];

pub(super) fn named_day_starts() -> Vec<DateStart> {
    first_words(NAMED_DAYS.map(|(word, ..)| word))
}

pub(super) fn tonight_starts() -> Vec<DateStart> {
    first_words([TONIGHT])
}

pub(super) fn part_starts() -> Vec<DateStart> {
    first_words(PARTS_OF_NEAR_DAYS.map(|(word, ..)| word))
}

pub(super) fn recent_starts() -> Vec<DateStart> {
    first_words(WORDS.recent.iter().filter_map(|recent| recent.phrase.iter().next()))
}

/// `yesterday evening`, `today`.
pub(super) fn named_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let (_, offset, may_have_part) = NAMED_DAYS.into_iter().find(|(name, ..)| *name == word)?;
    let day = reader.reference.day(offset)?;
    if may_have_part { reader.part(end, day) } else { Some((end, day)) }
}

/// `tonight`.
pub(super) fn tonight(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let end = reader.phrase(at, [TONIGHT])?;
    Some((end, reader.reference.day(0)?.part(DayPart::Night)?))
}

/// `this morning`, `last night`.
pub(super) fn part_of_near_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let (_, offset, parts) = PARTS_OF_NEAR_DAYS.into_iter().find(|(listed, ..)| *listed == word)?;
    let (part, end) = reader.next_word_in(end, parts)?;
    Some((end, reader.reference.day(offset)?.part(*WORDS.parts.get(part)?)?))
}

/// `recently`, `just now`, `the other day`.
pub(super) fn recent(reader: &DateReader<'_>, at: usize) -> FoundDate {
    WORDS.recent.iter().find_map(|recent| {
        let end = reader.phrase(at, recent.phrase.iter())?;
        let stretch = reader.reference.last(Count::Exactly(recent.count), recent.unit)?;
        Some((end, stretch.with_exactness(Exactness::Rough)))
    })
}
