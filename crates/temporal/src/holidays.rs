//! Holidays and their dates.

use jiff::{ToSpan, civil::Date};
use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{calendar::Stretch, scan::Scan, window::Exactness};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calendar {
    holidays: Vec<Holiday>,
    spring_festival_names: Words,
    /// Month and day, from 2010 on.
    spring_festivals: Vec<(i8, i8)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Holiday {
    names: Words,
    month: i8,
    day: i8,
    days: i64,
}

data!(CALENDAR: Calendar = "holidays.toml");

/// Returns the names of all holidays.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let names = CALENDAR.holidays.iter().flat_map(|holiday| holiday.names.iter());
    CALENDAR.spring_festival_names.iter().chain(names)
}

/// Reads the name of a holiday. Returns the index after it, and the days of the holiday in `year`.
pub(crate) fn of_year(scan: &Scan, at: usize, year: i16) -> Option<(usize, Stretch)> {
    if let Some((end, _)) = scan.one_of(at, &CALENDAR.spring_festival_names) {
        let (month, day) = *CALENDAR.spring_festivals.get(usize::try_from(year.checked_sub(2010)?).ok()?)?;
        // The Spring Festival begins on its eve.
        let eve = Date::new(year, month, day).ok()?.checked_sub(1.day()).ok()?;
        return Some((end, Stretch::days_from(eve, 8)?.with_exactness(Exactness::About)));
    }
    CALENDAR.holidays.iter().find_map(|holiday| {
        let (end, _) = scan.one_of(at, &holiday.names)?;
        let stretch = Stretch::days_from(Date::new(year, holiday.month, holiday.day).ok()?, holiday.days)?;
        Some((end, stretch.with_exactness(Exactness::About)))
    })
}
