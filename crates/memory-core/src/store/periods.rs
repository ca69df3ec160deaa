//! Counts of records over time.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    error::{Error, Result},
    record::{Kind, Record},
    time::Timestamp,
};

/// A division of time into periods of equal length, such as days. It extends to both sides of its start.
///
/// ```
/// use std::time::Duration;
/// use memory_engine_core::{Periods, Timestamp};
///
/// let days = Periods::new("2026-03-02T00:00:00Z".parse()?, Duration::from_secs(24 * 60 * 60))?;
/// assert_eq!(days.index_of("2026-03-04T20:15:00Z".parse()?), 2);
/// assert_eq!(days.index_of("2026-03-01T23:59:59Z".parse()?), -1);
/// assert_eq!(days.start_of(-1), "2026-03-01T00:00:00Z".parse::<Timestamp>()?);
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    start: Timestamp,
    length_micros: i64,
}

/// Number of records of one kind that occurred in one period.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeriodCount {
    /// The start of the period.
    pub start: Timestamp,
    /// The kind of the records.
    pub kind: Kind,
    /// Number of records; at least 1.
    pub records: u64,
}

impl Periods {
    /// Divides time into periods of this length. One of them begins at `start`.
    ///
    /// # Errors
    /// `InvalidInput` for a length of less than a microsecond or more than 292,000 years.
    pub fn new(start: Timestamp, length: Duration) -> Result<Self> {
        match i64::try_from(length.as_micros()) {
            Ok(length_micros) if length_micros > 0 => Ok(Self { start, length_micros }),
            Ok(_) | Err(_) => {
                Err(Error::invalid("periods", "a period must have at least 1 µs and at most 292,000 years"))
            }
        }
    }

    /// Returns the start of the period 0.
    pub fn start(self) -> Timestamp {
        self.start
    }

    /// Returns the length of a period in microseconds.
    pub fn length_micros(self) -> i64 {
        self.length_micros
    }

    /// Returns the index of the period that contains this time.
    pub fn index_of(self, time: Timestamp) -> i64 {
        let distance = i128::from(time.as_micros()) - i128::from(self.start.as_micros());
        let index = distance.div_euclid(i128::from(self.length_micros));
        i64::try_from(index).unwrap_or(if index < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns the start of the period with this index.
    pub fn start_of(self, index: i64) -> Timestamp {
        let start = self.start.as_micros();
        Timestamp::from_micros(start.saturating_add(index.saturating_mul(self.length_micros)))
    }

    /// Counts records by period and kind, ordered by both.
    pub fn count<'r>(self, records: impl IntoIterator<Item = &'r Record>) -> Vec<PeriodCount> {
        let mut counts: BTreeMap<(i64, &str), u64> = BTreeMap::new();
        for record in records {
            *counts.entry((self.index_of(record.occurred_at), record.kind.as_str())).or_default() += 1;
        }
        let count = |((index, kind), records)| PeriodCount::new(self.start_of(index), Kind::new(kind), records);
        counts.into_iter().map(count).collect()
    }
}

impl PeriodCount {
    /// Creates a count.
    pub fn new(start: Timestamp, kind: Kind, records: u64) -> Self {
        Self { start, kind, records }
    }
}
