//! Stretches of the calendar, relative to a reference time.

use jiff::{
    Span, ToSpan,
    civil::{Date, DateTime, Time, Weekday},
    tz::TimeZone,
};
use memory_engine_core::Timestamp;
use serde::Deserialize;

use crate::window::Exactness;

/// A stretch between two civil times (the end is exclusive), with the precision of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) from: DateTime,
    pub(crate) until: DateTime,
    pub(crate) exactness: Exactness,
    pub(crate) relative: bool,
}

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A number of units: exact, or "a few".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Exactly(i64),
    Half,
    Few,
}

/// A part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DayPart {
    SmallHours,
    Morning,
    Noon,
    Afternoon,
    Evening,
    Night,
}

/// A season of the northern hemisphere, with its first month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Season {
    Spring = 3,
    Summer = 6,
    Autumn = 9,
    Winter = 12,
}

/// Time and zone of a text.
#[derive(Debug)]
pub(crate) struct Reference<'z> {
    pub(crate) now: DateTime,
    zone: &'z TimeZone,
}

fn midnight(date: Date) -> DateTime {
    date.to_datetime(Time::midnight())
}

fn days(from: Date, until: Date) -> Stretch {
    Stretch { from: midnight(from), until: midnight(until), exactness: Exactness::Exact, relative: true }
}

impl Stretch {
    /// Returns a whole day.
    pub(crate) fn day(date: Date) -> Option<Self> {
        Some(days(date, date.checked_add(1.day()).ok()?))
    }

    /// Returns the stretch of `count` days from `first`.
    pub(crate) fn days_from(first: Date, count: i64) -> Option<Self> {
        Some(days(first, first.checked_add(Span::new().try_days(count).ok()?).ok()?))
    }

    pub(crate) fn month(year: i16, month: i8) -> Option<Self> {
        let first = Date::new(year, month, 1).ok()?;
        Some(days(first, first.checked_add(1.month()).ok()?))
    }

    pub(crate) fn year(year: i16) -> Option<Self> {
        let first = Date::new(year, 1, 1).ok()?;
        Some(days(first, first.checked_add(1.year()).ok()?))
    }

    pub(crate) fn season(year: i16, season: Season) -> Option<Self> {
        let first = Date::new(year, season as i8, 1).ok()?;
        Some(days(first, first.checked_add(3.months()).ok()?))
    }

    /// Returns the week of a day, from Monday.
    pub(crate) fn week(date: Date) -> Option<Self> {
        Self::days_from(monday(date)?, 7)
    }

    /// Returns a part of the day on which the stretch begins.
    pub(crate) fn part(self, part: DayPart) -> Option<Self> {
        let (from, until) = match part {
            DayPart::SmallHours => (0, 6),
            DayPart::Morning => (5, 12),
            DayPart::Noon => (11, 14),
            DayPart::Afternoon => (12, 18),
            DayPart::Evening => (17, 24),
            DayPart::Night => (18, 30),
        };
        let day = midnight(self.from.date());
        let hour = |hour: i64| day.checked_add(Span::new().try_hours(hour).ok()?).ok();
        Some(Self { from: hour(from)?, until: hour(until)?, ..self })
    }

    /// Marks the stretch as independent of the time of the text.
    pub(crate) fn absolute(mut self) -> Self {
        self.relative = false;
        self
    }

    pub(crate) fn with_exactness(mut self, exactness: Exactness) -> Self {
        self.exactness = exactness;
        self
    }

    /// Returns the stretch at this distance before the first day, or after the last one if `later`.
    pub(crate) fn shifted(self, count: Count, unit: Unit, later: bool) -> Option<Self> {
        let Count::Exactly(count) = count else { return None };
        let Self { relative, exactness, .. } = self;
        let anchor = if later { self.until.date().checked_sub(1.day()).ok()? } else { self.from.date() };
        let target = add_units(anchor, if later { count } else { -count }, unit)?;
        let stretch = match unit {
            Unit::Minute | Unit::Hour => return None,
            Unit::Day => Self::day(target)?,
            // "The week before the 9th" means the seven days before it.
            Unit::Week if count == 1 && later => Self::days_from(anchor.checked_add(1.day()).ok()?, 7)?,
            Unit::Week if count == 1 => days(target, anchor),
            Unit::Week => around(target, 3, 4)?.with_exactness(Exactness::About),
            Unit::Month => Self::month(target.year(), target.month())?,
            Unit::Year => Self::year(target.year())?,
        };
        let exactness = exactness.max(stretch.exactness);
        Some(Self { relative, exactness, ..stretch })
    }
}

fn monday(date: Date) -> Option<Date> {
    date.checked_sub(Span::new().try_days(i64::from(date.weekday().to_monday_zero_offset())).ok()?).ok()
}

fn add_units(date: Date, count: i64, unit: Unit) -> Option<Date> {
    let span = Span::new();
    let span = match unit {
        Unit::Minute | Unit::Hour => return None,
        Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Month => span.try_months(count),
        Unit::Year => span.try_years(count),
    };
    date.checked_add(span.ok()?).ok()
}

/// Returns the stretch from `before` days before a day until `after` days after it (exclusive).
fn around(date: Date, before: i64, after: i64) -> Option<Stretch> {
    Some(days(add_units(date, -before, Unit::Day)?, add_units(date, after, Unit::Day)?))
}

impl<'z> Reference<'z> {
    pub(crate) fn new(moment: Timestamp, zone: &'z TimeZone) -> Option<Self> {
        let now = moment.in_zone(zone);
        // Keeps a margin to the ends of the calendar, so that derived dates stay within it.
        (-9000..9000).contains(&now.year()).then_some(Self { now, zone })
    }

    pub(crate) fn today(&self) -> Date {
        self.now.date()
    }

    /// Returns the start and the end of a stretch as timestamps. `None` if it is empty.
    pub(crate) fn timestamps(&self, stretch: &Stretch) -> Option<(Timestamp, Timestamp)> {
        let moment = |civil: DateTime| {
            let zoned = civil.to_zoned(self.zone.clone()).ok()?;
            Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
        };
        let from = moment(stretch.from)?;
        let until = moment(stretch.until)?;
        (from < until).then_some((from, until))
    }

    /// Returns the day at this number of days from today.
    pub(crate) fn day(&self, offset: i64) -> Option<Stretch> {
        Stretch::day(add_units(self.today(), offset, Unit::Day)?)
    }

    /// Returns the week at this number of weeks from the current one.
    pub(crate) fn week(&self, offset: i64) -> Option<Stretch> {
        Stretch::week(add_units(self.today(), offset, Unit::Week)?)
    }

    /// Returns a day of the week at this number of weeks from the current one; Monday is 0.
    pub(crate) fn weekday(&self, week: i64, weekday: i64) -> Option<Stretch> {
        Stretch::day(add_units(monday(add_units(self.today(), week, Unit::Week)?)?, weekday, Unit::Day)?)
    }

    /// Returns Saturday and Sunday of the week at this number of weeks from the current one.
    pub(crate) fn weekend(&self, week: i64) -> Option<Stretch> {
        Stretch::days_from(add_units(monday(add_units(self.today(), week, Unit::Week)?)?, 5, Unit::Day)?, 2)
    }

    /// Returns the latest weekend that has begun or, with `is_over`, that is over.
    pub(crate) fn past_weekend(&self, is_over: bool) -> Option<Stretch> {
        let is_weekend = matches!(self.today().weekday(), Weekday::Saturday | Weekday::Sunday);
        self.weekend(if is_weekend && !is_over { 0 } else { -1 })
    }

    /// Returns the latest such weekday before today, or the first one after today if `later`.
    pub(crate) fn nearest_weekday(&self, weekday: Weekday, later: bool) -> Option<Stretch> {
        Stretch::day(nearest_weekday(self.today(), weekday, later)?)
    }

    /// Returns this weekday before today for the `count`th time.
    pub(crate) fn weekdays_ago(&self, weekday: Weekday, count: i64) -> Option<Stretch> {
        let latest = nearest_weekday(self.today(), weekday, false)?;
        if count < 1 { None } else { Stretch::day(add_units(latest, 1 - count, Unit::Week)?) }
    }

    /// Returns the month at this number of months from the current one.
    pub(crate) fn month(&self, offset: i64) -> Option<Stretch> {
        let first = add_units(self.today().first_of_month(), offset, Unit::Month)?;
        Stretch::month(first.year(), first.month())
    }

    /// Returns the number of the year at this number of years from the current one.
    pub(crate) fn year(&self, offset: i16) -> i16 {
        self.today().year() + offset
    }

    /// Returns the latest such month that has begun.
    pub(crate) fn latest_month(&self, month: i8) -> Option<Stretch> {
        let year = self.year(if month <= self.today().month() { 0 } else { -1 });
        Some(Stretch::month(year, month)?.with_exactness(Exactness::About))
    }

    /// Returns the latest such day that has begun. For 29 February it may be several years ago.
    pub(crate) fn latest_day(&self, month: i8, day: i8) -> Option<Stretch> {
        let dates = (0..=8).filter_map(|back| Date::new(self.year(-back), month, day).ok());
        let latest = dates.into_iter().find(|date| *date <= self.today())?;
        Some(Stretch::day(latest)?.with_exactness(Exactness::About))
    }

    /// Returns a season. Offset -1: the latest one that is over; 0: the current one, or that of this year; 1: the next
    /// one.
    pub(crate) fn season(&self, offset: i16, season: Season) -> Option<Stretch> {
        let mut seasons = (-2..=2).filter_map(|years| Stretch::season(self.year(years), season));
        match offset {
            -1 => seasons.rfind(|s| s.until <= midnight(self.today())),
            0 => {
                let current = seasons.clone().find(|s| s.from <= self.now && self.now < s.until);
                current.or_else(|| seasons.find(|s| s.from.year() == self.year(0)))
            }
            _ => seasons.find(|s| s.from > self.now),
        }
    }

    /// Returns the time at this number of units before now.
    pub(crate) fn ago(&self, count: Count, unit: Unit) -> Option<Stretch> {
        let back = |n: i64, unit| add_units(self.today(), -n, unit);
        let stretch = match (count, unit) {
            (Count::Exactly(0), _) => return None,
            (Count::Exactly(n), Unit::Minute | Unit::Hour) => self.moments_ago(2 * n - 1, 2 * n + 1, unit, 2)?,
            (Count::Exactly(n), Unit::Day) => return Stretch::day(back(n, Unit::Day)?),
            (Count::Exactly(n), Unit::Week) => around(back(n, Unit::Week)?, 3, 4)?,
            (Count::Exactly(n), Unit::Month) => around(back(n, Unit::Month)?, 15, 16)?,
            (Count::Exactly(n), Unit::Year) => Stretch::year(back(n, Unit::Year)?.year())?,
            (Count::Half, Unit::Hour) => self.moments_ago(15, 45, Unit::Minute, 1)?,
            (Count::Half, Unit::Month) => around(back(15, Unit::Day)?, 3, 4)?,
            (Count::Half, Unit::Year) => around(back(6, Unit::Month)?, 30, 31)?,
            (Count::Half, Unit::Minute | Unit::Day | Unit::Week) => return None,
            (Count::Few, Unit::Minute | Unit::Hour) => self.moments_ago(1, 10, unit, 1)?,
            (Count::Few, Unit::Day | Unit::Week | Unit::Month) => {
                let longest = if unit == Unit::Day { 8 } else { 6 };
                days(back(longest, unit)?, back(1, unit)?)
            }
            (Count::Few, Unit::Year) => {
                let first = Date::new(self.year(-6), 1, 1).ok()?;
                days(first, Date::new(self.year(-1), 1, 1).ok()?)
            }
        };
        Some(stretch.with_exactness(Exactness::About))
    }

    /// Returns the stretch of the last `count` units, until now.
    pub(crate) fn last(&self, count: Count, unit: Unit) -> Option<Stretch> {
        let (n, unit) = match (count, unit) {
            (Count::Exactly(n), unit) => (n, unit),
            (Count::Few, Unit::Day) => (7, Unit::Day),
            (Count::Few, unit) => (4, unit),
            (Count::Half, Unit::Year) => (6, Unit::Month),
            (Count::Half, Unit::Month) => (15, Unit::Day),
            (Count::Half, Unit::Hour) => (30, Unit::Minute),
            (Count::Half, Unit::Minute | Unit::Day | Unit::Week) => return None,
        };
        let from = match unit {
            Unit::Minute | Unit::Hour => {
                return self.moments_ago(0, n, unit, 1).map(|s| s.with_exactness(Exactness::About));
            }
            Unit::Day | Unit::Week | Unit::Month | Unit::Year => midnight(add_units(self.today(), -n, unit)?),
        };
        Some(Stretch { from, until: self.now, exactness: Exactness::About, relative: true })
    }

    /// Returns the stretch from `from / divisor` until `until / divisor` units ago.
    fn moments_ago(&self, until: i64, from: i64, unit: Unit, divisor: i64) -> Option<Stretch> {
        let minutes = if unit == Unit::Hour { 60 } else { 1 };
        let ago = |n: i64| {
            let seconds = n.checked_mul(minutes * 60)? / divisor;
            self.now.checked_sub(Span::new().try_seconds(seconds).ok()?).ok()
        };
        Some(Stretch { from: ago(from)?, until: ago(until)?, exactness: Exactness::About, relative: true })
    }
}

/// Returns the latest such weekday before a day, or the first one after it if `later`.
pub(crate) fn nearest_weekday(date: Date, weekday: Weekday, later: bool) -> Option<Date> {
    let index = |weekday: Weekday| i64::from(weekday.to_monday_zero_offset());
    let distance = match later {
        true => (index(weekday) - index(date.weekday())).rem_euclid(7),
        false => (index(date.weekday()) - index(weekday)).rem_euclid(7),
    };
    let distance = if distance == 0 { 7 } else { distance };
    add_units(date, if later { distance } else { -distance }, Unit::Day)
}
