//! The digest of the tables of a file, and the stamp that a backup contains.

use memory_engine_core::{Error, ErrorKind, Timestamp};
use memory_engine_sql::backup::{Cell, Fingerprint, RowHasher};
use rusqlite::{Connection, OptionalExtension, params, types::ValueRef};
use serde::{Deserialize, Serialize};

use crate::database::{catalogue, error::SqliteError};

/// Key of the stamp in the table `index_metadata`.
pub(crate) const STAMP_KEY: &str = "backup";
/// Key of the epoch of the caches in the table `index_metadata`. A backup has no caches.
pub(crate) const EPOCH_KEY: &str = "cache epoch";
/// Version of the stamp.
const FORMAT: u32 = 1;

/// Tables that change when a file is merely opened. They are not part of the digest.
pub(crate) const VOLATILE_TABLES: [&str; 4] = ["jobs", "changes", "lease_owners", "record_groups"];

/// The description of a backup, which the file contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    format: u32,
    /// Time of the backup, in microseconds since 1970.
    pub(crate) created_at: i64,
    /// The version of memory-engine that made it.
    pub(crate) engine: String,
    pub(crate) records: u64,
    pub(crate) tombstones: u64,
    /// The digest of the tables.
    pub(crate) digest: String,
}

impl Stamp {
    /// Creates the stamp of a file as it is now.
    pub(crate) fn of(connection: &Connection, now: Timestamp) -> Result<Self, SqliteError> {
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(Self {
            format: FORMAT,
            created_at: now.as_micros(),
            engine: env!("CARGO_PKG_VERSION").to_owned(),
            records: count("SELECT count(*) FROM records")?,
            tombstones: count("SELECT count(*) FROM tombstones")?,
            digest: digest(connection)?.to_string(),
        })
    }

    /// Writes the stamp into the file.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), SqliteError> {
        let json = serde_json::to_string(self)
            .map_err(|error| Error::new(ErrorKind::Internal, "backup", "the stamp is no JSON").with_source(error))?;
        let sql = "INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES (?1, ?2)";
        connection.execute(sql, params![STAMP_KEY, json])?;
        Ok(())
    }

    /// Reads the stamp of a file.
    ///
    /// # Errors
    /// `InvalidInput` if it has none; `SchemaMismatch` if a newer version wrote it.
    pub(crate) fn read(connection: &Connection, path: &str) -> Result<Self, SqliteError> {
        let sql = "SELECT made_by FROM index_metadata WHERE part = ?1";
        let json: Option<String> = connection.query_row(sql, [STAMP_KEY], |row| row.get(0)).optional()?;
        let Some(json) = json else {
            let message = format!(
                "{path} is a store and not a backup; `memory copy --from {path}` copies a store, `memory backup` makes \
                 a backup"
            );
            return Err(Error::invalid("restore backup", message).into());
        };
        let stamp: Self = serde_json::from_str(&json).map_err(|_| SqliteError::corrupt("the stamp of a backup"))?;
        if stamp.format != FORMAT {
            let message = format!("{path} was made by a newer memory-engine; update");
            return Err(Error::new(ErrorKind::SchemaMismatch, "restore backup", message).into());
        }
        Ok(stamp)
    }
}

/// Returns the digest of all rows of the tables of its schema, except those that change when the file is merely opened.
/// Does not depend on the order of the rows, and works for any schema.
pub(crate) fn digest(connection: &Connection) -> Result<Fingerprint, SqliteError> {
    let mut fingerprint = Fingerprint::default();
    let schema: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let added = catalogue::compare(connection, schema)?.added;
    for table in tables(connection)? {
        let is_added = added.iter().any(|(kind, name)| kind == "table" && *name == table);
        if is_added || VOLATILE_TABLES.contains(&table.as_str()) {
            continue;
        }
        let condition = match table.as_str() {
            "index_metadata" => format!(" WHERE part NOT IN ('{STAMP_KEY}', '{EPOCH_KEY}')"),
            _ => String::new(),
        };
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\"{condition}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut hasher = RowHasher::default();
            hasher.push(table.as_bytes());
            for column in 0..columns {
                push_value(&mut hasher, row.get_ref(column)?);
            }
            fingerprint.add_hash(hasher);
        }
    }
    Ok(fingerprint)
}

/// Returns the names of the tables of a file, without those of SQLite. The keyword index of schemas before 9 is not
/// among them: a virtual table without content has no rows to read. The tables that hold its data are.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<String>, SqliteError> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

fn push_value(hasher: &mut RowHasher, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => hasher.push_cell(&Cell::Null),
        ValueRef::Integer(number) => hasher.push_cell(&Cell::Integer(number)),
        ValueRef::Real(number) => hasher.push(&number.to_le_bytes()),
        ValueRef::Text(text) => {
            hasher.push(b"t");
            hasher.push(text);
        }
        ValueRef::Blob(bytes) => {
            hasher.push(b"b");
            hasher.push(bytes);
        }
    }
}
