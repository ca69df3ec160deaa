//! Days near today and parts of a day: 前天, 昨天下午, 今晚.

use super::words::{WORDS, offset_word, offset_word_starts};
use crate::{
    calendar::Stretch,
    date_starts::{DateStart, first_characters},
    reading::{DateReader, FoundDate},
    scan::Scan,
};

pub(super) fn night_starts() -> Vec<DateStart> {
    first_characters(WORDS.nights.iter().map(|night| night.word.as_str()))
}

pub(super) fn near_starts() -> Vec<DateStart> {
    offset_word_starts(&WORDS.days)
}

/// 今晚, 昨夜.
pub(super) fn night(reader: &DateReader<'_>, at: usize) -> FoundDate {
    if reader.scan.has_any_before(at, &WORDS.characters.before_night) {
        return None;
    }
    WORDS.nights.iter().find_map(|night| {
        let end = reader.scan.word(at, &night.word)?;
        Some((end, reader.reference.day(night.offset)?.part(night.part)?))
    })
}

/// 前天, 昨天下午.
pub(super) fn near(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (day, end) = offset_word(reader.scan, at, &WORDS.days)?;
    if !day.stands_alone(reader.scan, at, end) {
        return None;
    }
    part(reader.scan, end, reader.reference.day(day.offset)?)
}

/// Reads the part of the day that may follow a day.
pub(super) fn part(scan: &Scan, at: usize, day: Stretch) -> FoundDate {
    let start = scan.word(at, "的").unwrap_or(at);
    for part in &WORDS.parts {
        if let Some((end, _)) = scan.one_of(start, &part.words) {
            return Some((end, day.part(part.part)?));
        }
    }
    Some((at, day))
}
