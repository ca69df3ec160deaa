//! Days near today, and times shortly before now.

use super::words::WORDS;
use crate::{
    calendar::{Count, Part},
    reading::{FoundDate, Reader},
    window::Exactness,
};

/// `yesterday evening`, `today`.
pub(super) fn named_day(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (word, end) = reader.word(at)?;
    match word {
        "yesterday" => reader.part(end, reader.reference.day(-1)?),
        "today" => Some((end, reader.reference.day(0)?)),
        "tomorrow" => reader.part(end, reader.reference.day(1)?),
        _ => None,
    }
}

/// `tonight`.
pub(super) fn tonight(reader: &Reader<'_>, at: usize) -> FoundDate {
    let end = reader.phrase(at, ["tonight"])?;
    Some((end, reader.reference.day(0)?.part(Part::Night)?))
}

/// `this morning`, `last night`.
pub(super) fn part_of_near_day(reader: &Reader<'_>, at: usize) -> FoundDate {
    let (offset, (part, end)) = match reader.word(at)? {
        ("this", end) => (0, reader.then(end, &["morning", "afternoon", "evening"])?),
        ("last", end) => (-1, reader.then(end, &["night", "evening"])?),
        _ => return None,
    };
    Some((end, reader.reference.day(offset)?.part(*WORDS.parts.get(part)?)?))
}

/// `recently`, `just now`, `the other day`.
pub(super) fn recent(reader: &Reader<'_>, at: usize) -> FoundDate {
    WORDS.recent.iter().find_map(|recent| {
        let end = reader.phrase(at, recent.phrase.iter())?;
        let stretch = reader.reference.last(Count::Exactly(recent.count), recent.unit)?;
        Some((end, stretch.with(Exactness::Rough)))
    })
}
