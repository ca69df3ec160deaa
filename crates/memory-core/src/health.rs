//! The health report of a database.

pub(crate) mod finding;
pub(crate) mod problem_kind;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{health::finding::Finding, store::Job, time::Timestamp};

/// The health report of a whole database: all tenants together, without any stored text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct HealthReport {
    /// The database system with its version.
    pub backend: String,
    /// Schema version of the database; 0 for an empty one.
    pub schema: u32,
    /// Schema version that this version of the crate reads and writes.
    pub known_schema: u32,
    /// Number of partitions of each table; 0 for plain tables.
    pub partitions: u32,
    /// Installed database extensions, with their versions.
    pub extensions: BTreeMap<String, String>,
    /// The analyzer of the keyword index; `None` if nothing was ever indexed.
    pub analyzer: Option<String>,
    /// The embedding space of the vectors; `None` if none was ever stored.
    pub space: Option<String>,
    /// The embedding space of the vectors that do not serve searches, if there is a second version.
    pub second_space: Option<String>,
    /// Number of stored items of each kind, by the name of the kind.
    pub counts: BTreeMap<String, u64>,
    /// The queue of each job.
    pub waiting: BTreeMap<Job, QueueHealth>,
    /// Problems, each with the way to fix it: the texts of `findings`, and further ones.
    pub problems: Vec<String>,
    /// The problems that belong to a kind.
    pub findings: Vec<Finding>,
    /// Number of findings that a repair fixes.
    pub repairable: u64,
}

impl HealthReport {
    /// Creates a report without counts and problems. `known_schema` is the schema version of this crate.
    pub fn new(backend: impl Into<String>, schema: u32, known_schema: u32) -> Self {
        Self { backend: backend.into(), schema, known_schema, ..Self::default() }
    }

    /// Adds a finding, with its text.
    pub fn add(&mut self, finding: Finding) {
        self.problems.push(finding.to_string());
        self.repairable += u64::from(finding.repairable);
        self.findings.push(finding);
    }
}

/// The queue of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct QueueHealth {
    /// Number of records in the queue.
    pub records: u64,
    /// The time at which the oldest of them was queued.
    pub oldest: Option<Timestamp>,
    /// Number of dead letters: records for which the job has failed too often. They are not counted in `records`.
    pub dead_letters: u64,
}

impl QueueHealth {
    /// Creates the health of a queue without dead letters.
    pub fn new(records: u64, oldest: Option<Timestamp>) -> Self {
        Self { records, oldest, dead_letters: 0 }
    }

    /// Sets the number of dead letters.
    #[must_use]
    pub fn with_dead_letters(mut self, dead_letters: u64) -> Self {
        self.dead_letters = dead_letters;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::problem_kind::ProblemKind;

    #[test]
    fn findings_are_listed_as_problems() {
        let mut report = HealthReport::new("SQLite 3", 2, 2);
        report.add(Finding::new(ProblemKind::VectorMissing, 2, []));
        report.add(Finding::new(ProblemKind::RecordTextEmpty, 1, []));
        assert_eq!((report.problems.len(), report.findings.len(), report.repairable), (2, 2, 1));
        assert!(report.problems[0].starts_with("2 active records have no vector"));
    }
}
