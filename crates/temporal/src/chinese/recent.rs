//! Times shortly before now: 刚才, 最近, 这几天, 过去三天.

use memory_engine_core::text::is_han;

use super::{counted::counted_units, words::WORDS};
use crate::{
    calendar::{Count, Stretch, Unit},
    characters::is_latin,
    date_starts::{DateStart, first_characters, first_characters_of},
    reading::{DateReader, FoundDate},
    scan::Scan,
    window::Exactness,
};

const LATELY: &str = "最近";

pub(super) fn just_now_starts() -> Vec<DateStart> {
    first_characters_of(&WORDS.just_now)
}

pub(super) fn counted_starts() -> Vec<DateStart> {
    first_characters_of(&WORDS.last_counted)
}

pub(super) fn these_days_starts() -> Vec<DateStart> {
    first_characters_of(&WORDS.lately)
}

pub(super) fn days_starts() -> Vec<DateStart> {
    first_characters_of(&WORDS.recent_days)
}

pub(super) fn months_starts() -> Vec<DateStart> {
    first_characters_of(&WORDS.recent_months)
}

pub(super) fn lately_starts() -> Vec<DateStart> {
    first_characters([LATELY])
}

fn rough(reader: &DateReader<'_>, count: i64, unit: Unit) -> Option<Stretch> {
    Some(reader.reference.last(Count::Exactly(count), unit)?.with_exactness(Exactness::Rough))
}

/// 刚才, 刚刚.
pub(super) fn just_now(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, place) = reader.scan.one_of(at, &WORDS.just_now)?;
    let is_other_word = place > 0 && reader.scan.has_any(end, &WORDS.characters.after_just);
    if is_other_word { None } else { Some((end, rough(reader, 1, Unit::Hour)?)) }
}

/// Reads a count of units after a word such as 过去. Returns the index after it, the count and the unit.
fn last_units(scan: &Scan, at: usize) -> Option<(usize, Count, Unit)> {
    let (end, _) = scan.one_of(at, &WORDS.last_counted)?;
    counted_units(scan, end)
}

/// 这几天, 过去三天.
pub(super) fn counted(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let (end, count, unit) = last_units(scan, at)?;
    let is_other_word = scan.word(at, "近").is_some() && scan.has_any_before(at, &WORDS.characters.before_near);
    // 这一天 is a day of a story, and 这两年 goes on into now.
    let is_past =
        scan.word(at, "这").is_none() || matches!((count, unit), (Count::Few, _) | (Count::Exactly(2..), Unit::Day));
    if is_other_word || !is_past { None } else { Some((end, reader.reference.last(count, unit)?)) }
}

/// 最近, but not the nearest one: 最近的车站.
pub(super) fn lately(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    let end = scan.word(at, LATELY)?;
    let characters = &WORDS.characters;
    let is_nearest = scan.has_any(end, &characters.after_nearest)
        || (0..=3).any(|back| at.checked_sub(back).is_some_and(|p| scan.has_any_before(p, &characters.before_nearest)));
    if is_nearest || last_units(scan, at).is_some() { None } else { Some((end, rough(reader, 30, Unit::Day)?)) }
}

/// 近来, 近期.
pub(super) fn these_days(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, _) = reader.scan.one_of(at, &WORDS.lately)?;
    let is_other_word = reader.scan.has_any_before(at, &WORDS.characters.before_lately);
    if is_other_word { None } else { Some((end, rough(reader, 30, Unit::Day)?)) }
}

/// 前几天.
pub(super) fn days(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, _) = reader.scan.one_of(at, &WORDS.recent_days)?;
    if begins_clause(reader.scan, at) { Some((end, rough(reader, 7, Unit::Day)?)) } else { None }
}

/// 前阵子.
pub(super) fn months(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (end, _) = reader.scan.one_of(at, &WORDS.recent_months)?;
    if begins_clause(reader.scan, at) { Some((end, rough(reader, 60, Unit::Day)?)) } else { None }
}

/// Returns false if another word ends at an index: in 考试前两天, the days are counted from the examination.
fn begins_clause(scan: &Scan, at: usize) -> bool {
    let ends_word = |c: char| is_latin(c) || (is_han(c) && !WORDS.characters.sentence_start.contains(c));
    !scan.before(at).is_some_and(ends_word)
}
