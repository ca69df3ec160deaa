//! Holidays that are named with their year.

use jiff::{ToSpan, civil::Date};

use crate::{Exactness, calendar::Stretch, scan::Scan};

/// A holiday: its names, the month and day that it begins on, and how many days it lasts.
struct Holiday {
    names: &'static [&'static str],
    month: i8,
    day: i8,
    days: i64,
}

const HOLIDAYS: &[Holiday] = &[
    Holiday { names: &["元旦"], month: 1, day: 1, days: 3 },
    Holiday { names: &["情人节", "valentine's day", "valentines day"], month: 2, day: 14, days: 1 },
    Holiday { names: &["劳动节", "五一"], month: 5, day: 1, days: 5 },
    Holiday { names: &["国庆节", "国庆", "十一长假"], month: 10, day: 1, days: 7 },
    Holiday { names: &["halloween", "万圣节"], month: 10, day: 31, days: 1 },
    Holiday { names: &["圣诞节", "圣诞", "christmas", "xmas"], month: 12, day: 24, days: 3 },
    Holiday { names: &["new year's eve", "跨年夜"], month: 12, day: 31, days: 1 },
];

/// The first day of the Chinese year, month and day, from 2010 on.
const SPRING_FESTIVALS: [(i8, i8); 26] = [
    (2, 14),
    (2, 3),
    (1, 23),
    (2, 10),
    (1, 31),
    (2, 19),
    (2, 8),
    (1, 28),
    (2, 16),
    (2, 5),
    (1, 25),
    (2, 12),
    (2, 1),
    (1, 22),
    (2, 10),
    (1, 29),
    (2, 17),
    (2, 6),
    (1, 26),
    (2, 13),
    (2, 3),
    (1, 23),
    (2, 11),
    (1, 31),
    (2, 19),
    (2, 8),
];

/// The holiday whose name stands at a place, in a year; with the place after the name.
pub(crate) fn of_year(scan: &Scan, place: usize, year: i16) -> Option<(usize, Stretch)> {
    if let Some((end, _)) = scan.one_of(place, &["春节", "过年"]) {
        let (month, day) = *SPRING_FESTIVALS.get(usize::try_from(year.checked_sub(2010)?).ok()?)?;
        // From the eve on.
        let eve = Date::new(year, month, day).ok()?.checked_sub(1.day()).ok()?;
        return Some((end, Stretch::run(eve, 8)?.with(Exactness::About)));
    }
    HOLIDAYS.iter().find_map(|holiday| {
        let (end, _) = scan.one_of(place, holiday.names)?;
        let stretch = Stretch::run(Date::new(year, holiday.month, holiday.day).ok()?, holiday.days)?;
        Some((end, stretch.with(Exactness::About)))
    })
}
