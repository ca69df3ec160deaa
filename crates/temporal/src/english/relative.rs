//! Weeks, months, seasons and holidays before or after the current one: `last week`, `next Friday`.

use super::words::{self, WORDS};
use crate::{
    calendar::Stretch,
    date_starts::{DateStart, first_words},
    holidays,
    reading::{DateReader, FoundDate},
    window::Exactness,
};

const OVER_THE_WEEKEND: [&str; 3] = ["over", "the", "weekend"];
const THIS: &str = "this";
/// Words before a unit: -1 for the one before the current one, 1 for the one after it.
const DIRECTIONS: [(&str, i64); 4] = [("last", -1), ("previous", -1), ("next", 1), (THIS, 0)];

pub(super) fn over_the_weekend_starts() -> Vec<DateStart> {
    first_words([OVER_THE_WEEKEND[0]])
}

pub(super) fn direction_starts() -> Vec<DateStart> {
    first_words(DIRECTIONS.map(|(word, _)| word))
}

/// `over the weekend`.
pub(super) fn over_the_weekend(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let end = reader.phrase(at, OVER_THE_WEEKEND)?;
    Some((end, reader.reference.past_weekend(false)?.with_exactness(Exactness::About)))
}

/// Reads "last", "next" or "this": -1, 1 or 0, and the index of the next word.
fn direction(reader: &DateReader<'_>, at: usize) -> Option<(i64, usize)> {
    let (word, end) = reader.word(at)?;
    let (_, offset) = DIRECTIONS.into_iter().find(|(listed, _)| *listed == word)?;
    let past = if word == THIS { reader.next_word_in(end, &["past"]) } else { None };
    let (offset, end) = past.map_or((offset, end), |(_, end)| (-1, end));
    Some((offset, reader.next_word_start(end)?))
}

/// `last week`, `next month`, `this year`.
pub(super) fn unit(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    let (word, end) = reader.word(start)?;
    let stretch = match word {
        "week" => reader.reference.week(offset),
        "month" => reader.reference.month(offset),
        "year" => Stretch::year(reader.reference.year(i16::try_from(offset).ok()?)),
        _ => None,
    };
    // "the last week of May" is not last week.
    if reader.next_word_in(end, &["of"]).is_some() { None } else { Some((end, stretch?)) }
}

/// `this past weekend`, `next weekend`.
pub(super) fn weekend(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    let end = reader.phrase(start, ["weekend"])?;
    let weekend = if offset < 0 { reader.reference.past_weekend(true) } else { reader.reference.weekend(offset) };
    Some((end, weekend?))
}

/// `last Friday evening`, `this Monday`.
pub(super) fn weekday(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    let (word, end) = reader.word(start)?;
    let weekday = words::weekday(word)?;
    let day = match offset {
        0 => reader.reference.weekday(0, i64::from(weekday.to_monday_zero_offset()))?,
        _ => reader.reference.nearest_weekday(weekday, offset > 0)?,
    };
    reader.part(end, if offset > 0 { day.with_exactness(Exactness::About) } else { day })
}

/// `last summer`.
pub(super) fn season(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    let (word, end) = reader.word(start)?;
    Some((end, reader.reference.season(i16::try_from(offset).ok()?, *WORDS.seasons.get(word)?)?))
}

/// `last May`, `next June`.
pub(super) fn month(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    let (month, end) = reader.month_name(start, false).filter(|(month, _)| month.full)?;
    let current_month = reader.reference.today().month();
    let years = if offset < 0 && month.number >= current_month {
        -1
    } else if offset > 0 && month.number <= current_month {
        1
    } else {
        0
    };
    Some((end, Stretch::month(reader.reference.year(years), month.number)?.with_exactness(Exactness::About)))
}

/// `last Christmas`.
pub(super) fn holiday(reader: &DateReader<'_>, at: usize) -> FoundDate {
    let (offset, start) = direction(reader, at)?;
    reader.word(start)?;
    let year = reader.reference.year(if offset < 0 { -1 } else { 0 });
    let (end, holiday) = holidays::of_year(reader.scan, start, year)?;
    let (_, this_year) = holidays::of_year(reader.scan, start, reader.reference.year(0))?;
    // The holiday of this year is the last one when it is over.
    let is_over = offset < 0 && this_year.until <= reader.reference.now;
    Some((end, if is_over { this_year } else { holiday }))
}
