//! The tables, indexes, views and triggers that a schema has, to find those that something else has added.
//!
//! A trigger runs as part of every write, so one in a backup could change, keep or copy what is stored later.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{error::SqliteError, schema};
use crate::metadata_sql;

/// The objects of a database by kind (`table`, `index`, `view`, `trigger`) and name, with their normalised statements.
type Catalogue = BTreeMap<(String, String), String>;

/// Tables of SQLite itself.
const OWN_TABLES: [&str; 3] = ["sqlite_sequence", "sqlite_stat1", "sqlite_stat4"];

/// What the catalogue of a database and that of its schema do not share.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Kind and name of objects that the schema does not have.
    pub(crate) added: Vec<(String, String)>,
    /// Kind and name of objects of the schema that are missing or made by another statement.
    pub(crate) changed: Vec<(String, String)>,
}

impl Difference {
    /// Names the first object, for an error.
    pub(crate) fn first(&self) -> Option<String> {
        let changed = self.changed.first().map(|(kind, name)| format!("the {kind} {name} was changed or removed"));
        changed.or_else(|| self.added.first().map(|(kind, name)| format!("the {kind} {name} was added")))
    }
}

/// Compares a database with a new one of the same schema.
pub(crate) fn compare(connection: &Connection, schema: u32) -> Result<Difference, SqliteError> {
    let fresh = Connection::open_in_memory()?;
    metadata_sql::define(&fresh)?;
    for (up, _) in schema::MIGRATIONS.iter().take(schema as usize) {
        fresh.execute_batch(up)?;
    }
    let (found, expected) = (read(connection)?, read(&fresh)?);
    let added = found.keys().filter(|key| !expected.contains_key(*key)).cloned();
    let changed = expected.iter().filter(|(key, sql)| found.get(*key) != Some(*sql)).map(|(key, _)| key.clone());
    Ok(Difference { added: added.collect(), changed: changed.collect() })
}

fn read(connection: &Connection) -> Result<Catalogue, SqliteError> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut catalogue = Catalogue::new();
    while let Some(row) = rows.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let sql: Option<String> = row.get(2)?;
        // An index without a statement belongs to a constraint of its table.
        let is_own = kind == "table" && OWN_TABLES.contains(&name.as_str());
        let Some(sql) = sql.filter(|_| !is_own) else { continue };
        catalogue.insert((kind, name), normalised(&sql));
    }
    Ok(catalogue)
}

/// Returns a statement without blanks and quotation marks, which SQLite changes when a column is added, removed or
/// renamed. Texts and comments stay as they are: without its line break, a comment would hide what follows it.
fn normalised(sql: &str) -> String {
    let (mut is_text, mut is_comment) = (false, false);
    let mut chars = sql.chars().peekable();
    let mut normalised = String::with_capacity(sql.len());
    while let Some(c) = chars.next() {
        let is_code = !is_text && !is_comment;
        if is_code && (c.is_whitespace() || c == '"') {
            continue;
        }
        normalised.push(c);
        match c {
            '\'' if !is_comment => is_text = !is_text,
            '-' if is_code && chars.peek() == Some(&'-') => is_comment = true,
            '\n' => is_comment = false,
            _ => {}
        }
    }
    normalised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_has_its_catalogue_also_after_steps_down_and_up() {
        let connection = Connection::open_in_memory().unwrap();
        metadata_sql::define(&connection).unwrap();
        let check = |schema: usize| {
            let difference = compare(&connection, u32::try_from(schema).unwrap()).unwrap();
            assert_eq!(difference, Difference::default(), "schema {schema}");
        };
        for (number, (up, _)) in schema::MIGRATIONS.iter().enumerate() {
            connection.execute_batch(up).unwrap();
            check(number + 1);
        }
        for (number, (_, down)) in schema::MIGRATIONS.iter().enumerate().rev() {
            connection.execute_batch(down).unwrap();
            check(number);
        }
        for (number, (up, _)) in schema::MIGRATIONS.iter().enumerate() {
            connection.execute_batch(up).unwrap();
            check(number + 1);
        }
    }

    #[test]
    fn statements_differ_by_more_than_blanks() {
        assert_eq!(normalised("CREATE TABLE \"a\" (b  TEXT)"), normalised("CREATE TABLE a(b TEXT)"));
        assert_ne!(normalised("SELECT 'a b'"), normalised("SELECT 'ab'"));
        assert_ne!(normalised("SELECT 1 -- x\n, 2"), normalised("SELECT 1 -- x , 2"));
    }

    #[test]
    fn what_was_added_or_changed_is_named() {
        let connection = Connection::open_in_memory().unwrap();
        metadata_sql::define(&connection).unwrap();
        schema::MIGRATIONS.iter().for_each(|(up, _)| connection.execute_batch(up).unwrap());
        connection.execute_batch("CREATE VIEW late AS SELECT 1; ALTER TABLE records ADD COLUMN extra TEXT").unwrap();
        let difference = compare(&connection, schema::SCHEMA).unwrap();
        let named = |kind: &str, name: &str| vec![(kind.to_owned(), name.to_owned())];
        assert_eq!((&difference.added, &difference.changed), (&named("view", "late"), &named("table", "records")));
        assert_eq!(difference.first().unwrap(), "the table records was changed or removed");
    }
}
