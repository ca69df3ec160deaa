//! The health report of a database.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{store::Job, time::Timestamp};

/// The health report of a whole database: all tenants together, without any stored text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct HealthReport {
    /// The database system with its version.
    pub backend: String,
    /// The schema that the database has; 0 when nothing of ours is in it.
    pub schema: u32,
    /// The schema that this version reads and writes.
    pub known_schema: u32,
    /// Over how many partitions each table is spread; 0 for plain tables.
    pub partitions: u32,
    /// The extensions that are in use, with their versions.
    pub extensions: BTreeMap<String, String>,
    /// The analyzer that made the terms; `None` when none ever did.
    pub analyzer: Option<String>,
    /// The space of the vectors; `None` when there never were any.
    pub space: Option<String>,
    /// The space of the generation of vectors that does not serve, where there is one.
    pub second_space: Option<String>,
    /// Numbers of stored items, by their names.
    pub counts: BTreeMap<String, u64>,
    /// The queue of each job.
    pub waiting: BTreeMap<Job, QueueHealth>,
    /// Problems, each with what would fix it.
    pub problems: Vec<String>,
}

impl HealthReport {
    /// A look at such a database, of which nothing is known yet.
    pub fn new(backend: impl Into<String>, schema: u32, known_schema: u32) -> Self {
        Self { backend: backend.into(), schema, known_schema, ..Self::default() }
    }

    /// Adds a problem if `count` is at least 1.
    pub fn blame(&mut self, count: u64, what: &str) {
        if count > 0 {
            self.problems.push(format!("{count} {what}"));
        }
    }
}

/// The queue of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct QueueHealth {
    /// Number of records in the queue.
    pub records: u64,
    /// Since when the first of them has been waiting.
    pub oldest: Option<Timestamp>,
    /// Number of records for which the job was given up. They are not in the queue any more.
    pub given_up: u64,
}

impl QueueHealth {
    /// Creates a queue of this many records, the oldest of which was queued at this time.
    pub fn new(records: u64, oldest: Option<Timestamp>) -> Self {
        Self { records, oldest, given_up: 0 }
    }

    /// Sets the number of records for which the job was given up.
    #[must_use]
    pub fn with_given_up(mut self, given_up: u64) -> Self {
        self.given_up = given_up;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_blamed() {
        let mut checkup = HealthReport::new("SQLite 3", 2, 2);
        checkup.blame(0, "records without a home");
        checkup.blame(2, "records without a vector");
        assert_eq!(checkup.problems, ["2 records without a vector"]);
    }
}
