//! The integrity check of SQLite, as findings.

use std::collections::BTreeMap;

use memory_engine_core::{ErrorKind, Finding, ProblemKind};
use rusqlite::Connection;

use crate::database::error::SqliteError;

/// Maximum number of messages that SQLite returns.
const MAX_MESSAGES: usize = 100;

/// Reads the whole file and checks its structure.
pub(crate) fn check(connection: &Connection) -> Result<Vec<Finding>, SqliteError> {
    let messages = match read_messages(connection).map_err(SqliteError::from) {
        // The damage is so large that SQLite ends the check.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return Ok(vec![Finding::new(ProblemKind::FileDamaged, 1, [])]);
        }
        messages => messages?,
    };
    let mut affected: BTreeMap<ProblemKind, Vec<String>> = BTreeMap::new();
    for message in messages.iter().filter(|message| *message != "ok") {
        let (kind, example) = classify(message);
        affected.entry(kind).or_default().push(example.to_owned());
    }
    Ok(affected.into_iter().filter_map(|(kind, examples)| Finding::of_list(kind, examples)).collect())
}

fn read_messages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_MESSAGES})"))?;
    let messages = statement.query_map([], |row| row.get(0))?;
    messages.collect()
}

/// Returns the kind of a message, and the object that it names. The messages name tables, columns, indexes and pages,
/// and contain no text of records.
fn classify(message: &str) -> (ProblemKind, &str) {
    let index = ["missing from index ", "wrong # of entries in index ", "non-unique entry in index "];
    if let Some(name) = index.iter().find_map(|text| message.split_once(text)).map(|(_, name)| name) {
        return (ProblemKind::IndexInvalid, name);
    }
    let value = ["CHECK constraint failed in ", " value in "];
    if let Some(name) = value.iter().find_map(|text| message.split_once(text)).map(|(_, name)| name) {
        return (ProblemKind::RowInvalid, name);
    }
    (ProblemKind::FileDamaged, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_sqlite_are_classified() {
        for (message, kind, example) in [
            ("row 5 missing from index records_by_scope", ProblemKind::IndexInvalid, "records_by_scope"),
            ("wrong # of entries in index graph_edges_by_source", ProblemKind::IndexInvalid, "graph_edges_by_source"),
            ("CHECK constraint failed in tombstones", ProblemKind::RowInvalid, "tombstones"),
            ("NULL value in records.text", ProblemKind::RowInvalid, "records.text"),
            ("non-INTEGER value in records.revision", ProblemKind::RowInvalid, "records.revision"),
            (
                "Tree 5 page 7 cell 0: Offset 9 out of range 1..2",
                ProblemKind::FileDamaged,
                "Tree 5 page 7 cell 0: Offset 9 out of range 1..2",
            ),
        ] {
            assert_eq!(classify(message), (kind, example));
        }
    }
}
