//! Points in time, and clocks.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use jiff::{civil, tz::TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::sync::Mutex;

/// A point in time: microseconds since 1970-01-01T00:00:00 UTC.
///
/// The text form is RFC 3339 in UTC (`2026-03-02T20:15:00Z`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a point in time from microseconds since the Unix epoch. Negative numbers are earlier.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Adds a duration. The result is at most the maximum timestamp.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Subtracts a duration. The result is at least the minimum timestamp.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns the time from `earlier` to this point, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or_default())
    }

    /// Parses RFC 3339, or a date with or without a time of day. Without an offset, the time is in `zone`. A date alone
    /// is the first instant of that day.
    ///
    /// # Errors
    /// `InvalidInput` for any other text, and for years outside of −9999 to 9999.
    pub fn parse_in(text: &str, zone: &TimeZone) -> Result<Self> {
        let text = text.trim();
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Ok(Self(time.as_microsecond()));
        }
        let civil = text
            .parse::<civil::DateTime>()
            .or_else(|_| text.parse::<civil::Date>().map(|d| d.to_datetime(civil::Time::midnight())));
        let invalid = || {
            Error::invalid(
                "time",
                format!(
                    "'{}' is no time; write 2026-03-02T20:15:00+08:00, 2026-03-02T20:15:00 or 2026-03-02",
                    shorten(text)
                ),
            )
        };
        let zoned = civil.map_err(|_| invalid())?.to_zoned(zone.clone()).map_err(|_| invalid())?;
        Ok(Self(zoned.timestamp().as_microsecond()))
    }

    /// Returns the date and time of day in a time zone.
    pub fn in_zone(self, zone: &TimeZone) -> civil::DateTime {
        zone.to_datetime(self.to_jiff())
    }

    fn to_jiff(self) -> jiff::Timestamp {
        let clamped = self.0.clamp(jiff::Timestamp::MIN.as_microsecond(), jiff::Timestamp::MAX.as_microsecond());
        jiff::Timestamp::from_microsecond(clamped).unwrap_or_default()
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_jiff().fmt(f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Rounds down to microseconds.
impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        Self(time.as_nanosecond().div_euclid(1000) as i64)
    }
}

/// Rounds down to microseconds.
impl From<jiff::Zoned> for Timestamp {
    fn from(time: jiff::Zoned) -> Self {
        time.timestamp().into()
    }
}

/// Clamps the time to the years −9999 to 9999.
impl From<Timestamp> for jiff::Timestamp {
    fn from(time: Timestamp) -> Self {
        time.to_jiff()
    }
}

/// Rounds down to microseconds. Clamps a time that is out of range.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self(i64::try_from(after.as_micros()).unwrap_or(i64::MAX)),
            Err(before) => {
                let micros = before.duration().as_nanos().div_ceil(1000);
                Self(i64::try_from(micros).map_or(i64::MIN, i64::wrapping_neg))
            }
        }
    }
}

/// A time that the system cannot represent becomes the Unix epoch.
impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let distance = Duration::from_micros(time.0.unsigned_abs());
        let shifted =
            if time.0 < 0 { Self::UNIX_EPOCH.checked_sub(distance) } else { Self::UNIX_EPOCH.checked_add(distance) };
        shifted.unwrap_or(Self::UNIX_EPOCH)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse_in(text, &TimeZone::UTC)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The source of the current time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

const _: fn(&dyn Clock) = |_| {};

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_microsecond())
    }
}

/// A clock that only its methods change, for tests and replays.
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// Creates a clock with this time.
    pub fn new(now: Timestamp) -> Self {
        Self(Mutex::new(now))
    }

    /// Sets the clock, which may move it back.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock() = now;
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = now.after(by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_an_offset_is_in_the_given_zone() {
        let shanghai = TimeZone::fixed(jiff::tz::offset(8));
        let t = Timestamp::parse_in("2026-03-02T20:15:00", &shanghai).unwrap();
        assert_eq!(t.to_string(), "2026-03-02T12:15:00Z");
        assert_eq!(Timestamp::parse_in("2026-03-02T20:15:00+08:00", &TimeZone::UTC).unwrap(), t);
        assert_eq!(Timestamp::parse_in("2026-03-02", &TimeZone::UTC).unwrap().to_string(), "2026-03-02T00:00:00Z");
        assert_eq!(t.in_zone(&shanghai).to_string(), "2026-03-02T20:15:00");
    }

    #[test]
    fn the_error_of_an_invalid_time_has_an_example() {
        for bad in ["", "tomorrow", "2026-13-40", "99999-01-01"] {
            let e = bad.parse::<Timestamp>().unwrap_err();
            assert!(e.to_string().contains("2026-03-02"), "{e}");
        }
    }

    #[test]
    fn the_text_form_keeps_microseconds() {
        let t = Timestamp::from_micros(1_772_000_000_123_456);
        assert_eq!(t.to_string().parse::<Timestamp>().unwrap(), t);
    }
}
