//! Dates that count units: 三天前, 半年前, 五月七号前两天.

use super::words::WORDS;
use crate::{
    calendar::{Count, Stretch, Unit},
    date_starts::{DateStart, first_characters, first_characters_of},
    numbers::{number, number_starts},
    reading::{DateReader, FoundDate},
    scan::Scan,
    window::Exactness,
};

const HALF: &str = "半";

/// Returns the starts of a count.
pub(super) fn count_starts() -> Vec<DateStart> {
    [first_characters([HALF]), first_characters_of(&WORDS.few), number_starts()].concat()
}

/// Reads a count with its unit.
pub(super) fn counted_units(scan: &Scan, at: usize) -> Option<(usize, Count, Unit)> {
    let (end, count) = count(scan, at)?;
    let (end, unit) = WORDS.units.iter().find_map(|row| Some((scan.one_of(end, &row.words)?.0, row.unit)))?;
    Some((end, count, unit))
}

/// Reads a number, 半, 几 or 好几.
fn count(scan: &Scan, at: usize) -> Option<(usize, Count)> {
    if let Some(end) = scan.word(at, HALF) {
        return Some((end, Count::Half));
    }
    if let Some((end, _)) = scan.one_of(at, &WORDS.few) {
        return Some((end, Count::Few));
    }
    let (end, value) = number(scan, at)?;
    Some((end, Count::Exactly(value)))
}

/// 三天前, 两周之前, 几个月前.
pub(super) fn ago(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let scan = reader.scan;
    if scan.is_inside_number(at) || scan.has_any_before(at, &WORDS.characters.before_ago) {
        return None;
    }
    let (end, count, unit) = counted_units(scan, at)?;
    let (end, _) = scan.one_of(end, &WORDS.ago)?;
    if scan.has_any(end, &WORDS.characters.after_ago) {
        return None;
    }
    Some((end, reader.reference.ago(count, unit)?))
}

/// Reads an offset from a date that ends at `end`: 前两天 or 的三天后 after it.
pub(super) fn offset_from_date(reader: &DateReader<'_>, end: usize, stretch: Stretch) -> FoundDate {
    let scan = reader.scan;
    let start = scan.word(end, "的").unwrap_or(end);
    if let Some((next, later)) = direction(scan, start)
        && let Some((next, count, unit)) = counted_units(scan, next)
    {
        return Some((next, stretch.shifted(count, unit, later)?));
    }
    // Two dates: 昨天三天前的面包.
    if start == end && stretch.relative && stretch.exactness == Exactness::Exact {
        return None;
    }
    let (next, count, unit) = counted_units(scan, start)?;
    let (next, later) = direction(scan, next)?;
    Some((next, stretch.shifted(count, unit, later)?))
}

/// Reads 前 or 后: the index after it, and true for 后.
fn direction(scan: &Scan, at: usize) -> Option<(usize, bool)> {
    let before = scan.one_of(at, &WORDS.before).map(|(end, _)| (end, false));
    before.or_else(|| scan.one_of(at, &WORDS.after).map(|(end, _)| (end, true)))
}
