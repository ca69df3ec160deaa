//! The checks of a backend: statements that find problems, and statements that repair them.
//!
//! A backend has a data file of checks. Each check begins with the line `-- check: ID` and a query that returns one row
//! for each problem, with one column `example`. The statements after the line `-- repair: ID` repair them. A repair
//! runs through the checks in the order of the file. Words in braces are replaced, see [`Placeholders`].

use memory_engine_core::{
    EmbeddingSpace, Error, ErrorKind, Finding, Job, ProblemKind, Result, State, Timestamp, Trust,
};

use crate::{
    embedding_versions::StoredEmbeddingVersions,
    indexed,
    rows::{LEASE_DEAD, LEASE_FREE},
};

const CHECK_LINE: &str = "-- check: ";
const REPAIR_LINE: &str = "-- repair: ";

/// Lease or retry delay above which a job counts as lost, in microseconds: one year.
const MAX_LEASE_MICROS: i64 = 365 * 24 * 3600 * 1_000_000;

/// A check of the data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The kind of problem that it finds.
    pub kind: ProblemKind,
    /// The query that returns an example for each problem.
    pub find: &'static str,
    /// The statements that repair all problems of this kind.
    pub repair: Option<&'static str>,
}

impl Check {
    /// Returns the query for the number of problems and two examples, which needs little memory however many there are.
    pub fn summary(&self, placeholders: &Placeholders) -> String {
        let find = placeholders.fill(self.find);
        format!("SELECT count(*) AS problems, min(x.example) AS first, max(x.example) AS last FROM ({find}) x")
    }

    /// Returns the finding of a row of [`summary`](Self::summary); `None` without problems.
    pub fn finding(&self, problems: u64, first: Option<String>, last: Option<String>) -> Option<Finding> {
        (problems > 0).then(|| Finding::new(self.kind, problems, first.into_iter().chain(last)))
    }
}

/// Reads a data file of checks.
///
/// # Errors
/// `Internal` for a file that does not have the format. A test of each backend reads its file.
pub fn parse(file: &'static str) -> Result<Vec<Check>> {
    let wrong =
        |what: &str| Error::new(ErrorKind::Internal, "check_health", format!("the list of checks is wrong: {what}"));
    let mut checks: Vec<Check> = Vec::new();
    // The first part is the comment of the file.
    for part in file.split(CHECK_LINE).skip(1) {
        let (id, body) = part.split_once('\n').ok_or_else(|| wrong(part))?;
        let kind: ProblemKind = id.trim().parse().map_err(|_| wrong(id))?;
        let (find, repair) = match body.split_once(REPAIR_LINE) {
            None => (body, None),
            Some((find, rest)) => {
                let (repaired, repair) = rest.split_once('\n').ok_or_else(|| wrong(rest))?;
                if repaired.trim() != kind.as_str() {
                    return Err(wrong(repaired));
                }
                (find, Some(repair.trim()))
            }
        };
        if repair.is_some() != kind.remedy().is_repair() || checks.iter().any(|check| check.kind == kind) {
            return Err(wrong(id));
        }
        checks.push(Check { kind, find: find.trim().trim_end_matches(';'), repair });
    }
    Ok(checks)
}

/// The values of the words in braces in a data file of checks.
#[derive(Debug, Clone)]
pub struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Returns the values for a database with these embedding versions. Jobs are queued at `now`.
    pub fn new(versions: &StoredEmbeddingVersions, now: Timestamp) -> Self {
        let dimensions = |space: &Option<String>| {
            let space = space.as_deref().and_then(EmbeddingSpace::parse);
            space.map_or_else(|| "NULL".to_owned(), |space| space.dimensions.to_string())
        };
        Self(vec![
            // `r` is a row of `records`.
            ("{indexed}", indexed!().to_owned()),
            ("{serving}", versions.table.name().to_owned()),
            ("{serving_dimensions}", dimensions(&versions.serving)),
            ("{other}", versions.table.other().name().to_owned()),
            ("{other_dimensions}", dimensions(&versions.second)),
            ("{states}", quoted(State::ALL.iter().map(|name| name.as_str()))),
            ("{trusts}", quoted(Trust::ALL.iter().map(|name| name.as_str()))),
            ("{jobs}", quoted(Job::ALL.iter().map(|name| name.as_str()))),
            ("{free}", format!("({LEASE_FREE})")),
            ("{dead}", LEASE_DEAD.to_string()),
            ("{max_lease}", MAX_LEASE_MICROS.to_string()),
            ("{now}", format!("({})", now.as_micros())),
        ])
    }

    /// Replaces the words in braces.
    pub fn fill(&self, sql: &str) -> String {
        self.0.iter().fold(sql.to_owned(), |sql, (word, value)| sql.replace(word, value))
    }
}

/// Returns names as a list of SQL texts. No name contains a quote.
fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_into_checks() {
        let checks = parse(
            "-- Comment.\n-- check: vector-orphan\nSELECT {serving};\n-- repair: vector-orphan\nDELETE;\n\n\
             -- check: record-text-empty\nSELECT 2;\n",
        );
        let checks = checks.unwrap();
        assert_eq!((checks[0].kind, checks[0].repair), (ProblemKind::VectorOrphan, Some("DELETE;")));
        assert_eq!((checks[1].find, checks[1].repair), ("SELECT 2", None));
        let placeholders = Placeholders::new(&StoredEmbeddingVersions::default(), Timestamp::from_micros(5));
        assert!(checks[0].summary(&placeholders).contains("FROM (SELECT vectors) x"));
        assert_eq!(placeholders.fill("{now} {serving_dimensions}"), "(5) NULL");
    }

    #[test]
    fn a_file_with_errors_is_refused() {
        for file in [
            "-- check: unknown-kind\nSELECT 1;",
            "-- check: vector-orphan\nSELECT 1;",
            "-- check: record-text-empty\nSELECT 1;\n-- repair: record-text-empty\nDELETE;",
            "-- check: record-text-empty\nSELECT 1;\n-- check: record-text-empty\nSELECT 1;",
            "-- check: vector-orphan\nSELECT 1;\n-- repair: vector-inactive\nDELETE;",
        ] {
            assert!(parse(file).is_err(), "{file}");
        }
    }
}
