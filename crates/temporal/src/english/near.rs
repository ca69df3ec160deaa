//! Days near today, and times shortly before now.

use super::words::WORDS;
use crate::{
    calendar::{Count, DayPart},
    reading::{DateReader, FoundDate},
    window::Exactness,
};

/// `yesterday evening`, `today`.
pub(super) fn named_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    match word {
        "yesterday" => reader.part(end, reader.reference.day(-1)?),
        "today" => Some((end, reader.reference.day(0)?)),
        "tomorrow" => reader.part(end, reader.reference.day(1)?),
        _ => None,
    }
}

/// `tonight`.
pub(super) fn tonight(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let end = reader.phrase(at, ["tonight"])?;
    Some((end, reader.reference.day(0)?.part(DayPart::Night)?))
}

/// `this morning`, `last night`.
pub(super) fn part_of_near_day(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    let (offset, parts): (i64, &[&str]) = match word {
        "this" => (0, &["morning", "afternoon", "evening"]),
        "last" => (-1, &["night", "evening"]),
        _ => return None,
    };
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
