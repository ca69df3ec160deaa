//! The tables of a database, with what the search has to know about each.

use rusqlite::Connection;

use crate::database::error::SqliteError;

/// The tables whose rows are names of tenants, users and conversations.
const NAME_TABLES: [&str; 3] = ["tenants", "namespaces", "scopes"];
/// The tables whose keys are the numbers of records.
const RECORD_TABLES: [&str; 3] = ["records", "vectors", "secondary_vectors"];

/// The namespace of the rows of a table that names no users.
const NO_NAMESPACE: &str = "NULL";

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) indexes: Vec<Index>,
    /// Columns that refer to another table.
    references: Vec<Reference>,
}

/// An index with at least one column that can hold text or an id.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// The condition of a partial index, with its `WHERE`; otherwise empty.
    pub(super) condition: String,
}

#[derive(Debug)]
struct Reference {
    column: String,
    table: String,
    key: String,
}

/// Returns every table of the database. The list comes from the database, so that no table of a later version is left
/// out.
pub(super) fn tables(connection: &Connection) -> Result<Vec<Table>, SqliteError> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let names = strings(connection, sql, [])?;
    names.into_iter().map(|name| read(connection, name)).collect()
}

fn read(connection: &Connection, name: String) -> Result<Table, SqliteError> {
    let mut table = Table::default();
    // The primary key of a table without rowid is the table itself.
    let is_table = "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'";
    let is_table = connection.query_row(is_table, [&name], |row| row.get::<_, bool>(0)).unwrap_or(false);
    let sql = "SELECT l.name, CASE WHEN l.partial THEN
            (SELECT substr(s.sql, instr(upper(s.sql), 'WHERE')) FROM sqlite_schema s WHERE s.name = l.name)
        ELSE '' END AS condition FROM pragma_index_list(?1) l WHERE NOT (?2 AND l.origin = 'pk')";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(rusqlite::params![name, is_table])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get("name")?;
        let sql = "SELECT name FROM pragma_index_xinfo(?1) WHERE key = 1 AND name IS NOT NULL";
        let columns = strings(connection, sql, [&name])?;
        table.indexes.push(Index { name, columns, condition: row.get("condition")? });
    }
    let sql = "SELECT f.\"from\" AS own_column, f.\"table\" AS other_table, coalesce(f.\"to\", (
            SELECT p.name FROM pragma_table_info(f.\"table\") p WHERE p.pk = 1
        )) AS other_key FROM pragma_foreign_key_list(?1) f";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&name])?;
    while let Some(row) = rows.next()? {
        let (column, other) = (row.get("own_column")?, row.get("other_table")?);
        table.references.push(Reference { column, table: other, key: row.get("other_key")? });
    }
    table.name = name;
    Ok(table)
}

fn strings(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> Result<Vec<String>, SqliteError> {
    let mut statement = connection.prepare(sql)?;
    let strings = statement.query_map(parameters, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(strings)
}

impl Table {
    /// Returns true if a column refers to one of these tables. A table of another program may have a column of the same
    /// name with another meaning.
    fn refers(&self, column: &str, tables: &[&str]) -> bool {
        let is_reference = |other: &Reference| other.column == column && tables.contains(&other.table.as_str());
        self.references.iter().any(is_reference)
    }

    /// Returns true if the rows of the table name their user.
    pub(super) fn has_users(&self) -> bool {
        self.refers("namespace", &["namespaces"]) || self.refers("scope", &["scopes"])
    }

    pub(super) fn is_records(&self) -> bool {
        self.name == "records"
    }

    pub(super) fn is_of_names(&self) -> bool {
        NAME_TABLES.contains(&self.name.as_str())
    }

    /// Returns an expression for the namespace of a row `t`.
    pub(super) fn namespace_sql(&self) -> &'static str {
        if self.refers("namespace", &["namespaces"]) {
            "t.namespace"
        } else if self.refers("scope", &["scopes"]) {
            "(SELECT s.namespace FROM scopes s WHERE s.scope = t.scope)"
        } else if self.refers("record", &RECORD_TABLES) {
            "(SELECT r.namespace FROM records r WHERE r.record = t.record)"
        } else {
            NO_NAMESPACE
        }
    }

    /// Returns true if a row tells whose it is: itself, or by its record.
    pub(super) fn names_users(&self) -> bool {
        self.namespace_sql() != NO_NAMESPACE
    }

    /// Returns an expression that is true if a row `t` belongs to an existing record.
    pub(super) fn owner_sql(&self) -> &'static str {
        if self.refers("record", &RECORD_TABLES) {
            "EXISTS (SELECT 1 FROM records r WHERE r.record = t.record)"
        } else {
            "0"
        }
    }

    /// Returns statements that count the rows whose reference leads nowhere.
    pub(super) fn orphan_sql(&self) -> Vec<String> {
        let is_of_user = if self.has_users() {
            format!("({} IN (SELECT value FROM json_each(?1)))", self.namespace_sql())
        } else {
            "?1 IS NOT NULL".to_owned()
        };
        let count = |reference: &Reference| {
            let Reference { column, table, key } = reference;
            let [own, column, table, key] = [&self.name, column, table, key].map(|name| quoted(name));
            format!(
                "SELECT count(*) FROM {own} t WHERE t.{column} IS NOT NULL AND {is_of_user}
                 AND NOT EXISTS (SELECT 1 FROM {table} p WHERE p.{key} = t.{column})"
            )
        };
        let is_counted = |reference: &&Reference| !NAME_TABLES.contains(&reference.table.as_str());
        self.references.iter().filter(is_counted).map(count).collect()
    }
}

/// Returns a name in quotation marks.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
