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

/// The differences between the catalogue of a database and that of its schema.
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
    for migration in schema::MIGRATIONS.iter().take(schema as usize) {
        fresh.execute_batch(migration.up)?;
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

/// Returns a statement without comments, blanks and quotation marks, which SQLite changes when a column is added,
/// removed or renamed, and with the columns of a table in the order of their texts: a step down and up changes it.
fn normalised(sql: &str) -> String {
    // The texts between commas outside of the brackets of a column.
    let mut parts = vec![String::new()];
    let (mut is_text, mut depth) = (false, 0);
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        let is_code = !is_text;
        if is_code && c == '-' && chars.peek() == Some(&'-') {
            chars.by_ref().find(|c| *c == '\n');
            continue;
        }
        if is_code && (c.is_whitespace() || c == '"') {
            continue;
        }
        match c {
            '\'' => is_text = !is_text,
            '(' if is_code => depth += 1,
            ')' if is_code => depth -= 1,
            _ => {}
        }
        // The list of columns begins with the first bracket, and ends with the last one.
        let is_border = is_code && matches!((c, depth), (',' | '(', 1) | (')', 0));
        if is_border {
            parts.push(c.to_string());
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    if sql.trim_start().to_ascii_uppercase().starts_with("CREATE TABLE") {
        parts.sort();
    }
    parts.concat()
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
        for (number, migration) in schema::MIGRATIONS.iter().enumerate() {
            connection.execute_batch(migration.up).unwrap();
            check(number + 1);
        }
        for (number, migration) in schema::MIGRATIONS.iter().enumerate().rev() {
            connection.execute_batch(migration.down).unwrap();
            check(number);
        }
        for (number, migration) in schema::MIGRATIONS.iter().enumerate() {
            connection.execute_batch(migration.up).unwrap();
            check(number + 1);
        }
    }

    #[test]
    fn statements_differ_by_more_than_blanks() {
        assert_eq!(normalised("CREATE TABLE \"a\" (b  TEXT)"), normalised("CREATE TABLE a(b TEXT)"));
        assert_ne!(normalised("SELECT 'a b'"), normalised("SELECT 'ab'"));
        assert_ne!(normalised("SELECT 1 -- x\n, 2"), normalised("SELECT 1 -- x , 2"));
        let table = "CREATE TABLE a (b TEXT CHECK (b IN ('x, y', 'z')), c AS (max(1, 2)))";
        assert_eq!(
            normalised(table),
            normalised("CREATE TABLE a (c AS (max(1, 2)), b TEXT CHECK (b IN ('x, y', 'z')))")
        );
        for changed in [
            "CREATE TABLE a (b TEXT CHECK (b IN ('x, y', 'z')), c AS (max(2, 1)))",
            "CREATE TABLE a (b TEXT CHECK (b IN ('x, y', 'z')))",
            "CREATE TABLE a (b TEXT CHECK (b IN ('x, y', 'z')), c AS (max(1, 2))) STRICT",
        ] {
            assert_ne!(normalised(table), normalised(changed), "{changed}");
        }
    }

    #[test]
    fn what_was_added_or_changed_is_named() {
        let connection = Connection::open_in_memory().unwrap();
        metadata_sql::define(&connection).unwrap();
        schema::MIGRATIONS.iter().for_each(|migration| connection.execute_batch(migration.up).unwrap());
        connection.execute_batch("CREATE VIEW late AS SELECT 1; ALTER TABLE records ADD COLUMN extra TEXT").unwrap();
        let difference = compare(&connection, schema::SCHEMA).unwrap();
        let named = |kind: &str, name: &str| vec![(kind.to_owned(), name.to_owned())];
        assert_eq!((&difference.added, &difference.changed), (&named("view", "late"), &named("table", "records")));
        assert_eq!(difference.first().unwrap(), "the table records was changed or removed");
    }
}
