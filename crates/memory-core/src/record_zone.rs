//! The time zone in which a record was said.

use jiff::{civil, fmt::temporal::DateTimeParser, tz::TimeZone};

use crate::{record::Record, time::Timestamp};

impl Record {
    /// Metadata key of the time zone in which the record was said: a name such as `Asia/Shanghai`, or an offset such as
    /// `-08:00`. A record without it has days in the engine's time zone.
    pub const ZONE_KEY: &str = "time_zone";

    /// Returns the time zone in which the record was said; `None` if it is unknown.
    pub fn zone(&self) -> Option<TimeZone> {
        DateTimeParser::new().parse_time_zone(self.metadata.get(Self::ZONE_KEY)?.as_str()?).ok()
    }

    /// Sets the time zone in which the record was said. A zone without a name is stored as its offset at the time of
    /// the record.
    pub fn set_zone(&mut self, zone: &TimeZone) {
        let offset = || zone.to_offset(self.occurred_at.into()).to_string();
        let name = zone.iana_name().map_or_else(offset, str::to_owned);
        // `Offset` writes whole hours as `-08`.
        let name = if name.len() == "-08".len() && name.starts_with(['+', '-']) { name + ":00" } else { name };
        self.metadata.insert(Self::ZONE_KEY.into(), name.into());
    }

    /// Returns the date and time of day at which the record was said: in its own time zone, or in `default` if that is
    /// unknown.
    pub fn said_at(&self, default: &TimeZone) -> civil::DateTime {
        self.occurred_at.in_zone(self.zone().as_ref().unwrap_or(default))
    }
}

impl Timestamp {
    /// Returns the time zone that an RFC 3339 time names by its offset; `None` without an offset, and for `Z` and
    /// `+00:00`, which programs also write for times of other zones.
    ///
    /// ```
    /// use memory_engine_core::Timestamp;
    ///
    /// assert!(Timestamp::zone_of("2026-11-27T20:00:00-08:00").is_some());
    /// assert!(Timestamp::zone_of("2026-11-28T04:00:00Z").is_none());
    /// ```
    pub fn zone_of(text: &str) -> Option<TimeZone> {
        let pieces = jiff::fmt::temporal::Pieces::parse(text.trim()).ok()?;
        let offset = pieces.to_numeric_offset()?;
        (!offset.is_zero()).then(|| TimeZone::fixed(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Kind, scope::Scope, time::SystemClock};

    #[test]
    fn the_zone_of_a_record_is_read_as_it_was_set() {
        let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "早", &SystemClock);
        assert_eq!(record.zone(), None);
        record.occurred_at = "2026-11-28T04:00:00Z".parse().unwrap();
        assert_eq!(record.said_at(&TimeZone::UTC).to_string(), "2026-11-28T04:00:00");
        for (text, stored) in [("2026-11-27T20:00:00-08:00", "-08:00"), ("2026-11-28T09:30+05:30", "+05:30")] {
            let zone = Timestamp::zone_of(text).unwrap();
            record.set_zone(&zone);
            assert_eq!(record.metadata[Record::ZONE_KEY], stored);
            assert_eq!(record.zone(), Some(zone));
        }
        record.set_zone(&TimeZone::get("Asia/Shanghai").unwrap());
        assert_eq!(record.metadata[Record::ZONE_KEY], "Asia/Shanghai");
        assert_eq!(record.said_at(&TimeZone::UTC).to_string(), "2026-11-28T12:00:00");
        record.metadata.insert(Record::ZONE_KEY.into(), "north".into());
        assert_eq!(record.zone(), None);
    }

    #[test]
    fn only_an_offset_names_a_zone() {
        for text in ["2026-11-28", "2026-11-28T04:00:00", "2026-11-28T04:00:00Z", "2026-11-28T04:00:00+00:00", "soon"] {
            assert_eq!(Timestamp::zone_of(text), None, "{text}");
        }
    }
}
