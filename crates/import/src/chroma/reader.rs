//! The database of another program, read as it is: what a persistent Chroma client has written.
//!
//! Read from chromadb 0.5.23 and 1.5.9, whose tables are those of every version since 0.4.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use memory_engine_core::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::error::ChromaError;

/// Time to wait for a program that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const FILE: &str = "chroma.sqlite3";
/// The metadata key under which Chroma stores the document.
const DOCUMENT: &str = "chroma:document";
/// Keys of Chroma's own.
const OWN_KEY_PREFIX: &str = "chroma:";

/// Reads what a persistent Chroma client has written, and changes nothing.
///
/// Every call blocks while it reads. What Chroma writes meanwhile may be seen or not.
#[derive(Debug)]
pub struct ChromaReader {
    connection: Connection,
    path: PathBuf,
    has_databases: bool,
    has_booleans: bool,
    has_lists: bool,
    with_embeddings: bool,
}

/// One of Chroma's collections.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChromaCollection {
    /// Its id.
    pub id: String,
    /// Its name, unique within its database.
    pub name: String,
    /// The name of its database, `default_database` by default.
    pub database: String,
    /// The tenant of the database, `default_tenant` by default.
    pub tenant: String,
    /// The dimension of its vectors; `None` where nothing was ever added.
    pub dimension: Option<usize>,
    /// Number of items.
    pub items: u64,
}

/// One item of a collection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChromaItem {
    /// The position. Items of a collection are returned in this order.
    pub position: i64,
    /// Its id, unique within its collection.
    pub id: String,
    /// Its document, if it has one.
    pub document: Option<String>,
    /// Its metadata: texts, numbers, truth values, and lists of them.
    pub metadata: Map<String, Value>,
    /// The time at which it was added.
    pub created_at: Option<Timestamp>,
    /// Its vector, where [`with_embeddings`](ChromaReader::with_embeddings) asks for it and Chroma's log still holds
    /// it. What has moved on to its vector index, after some thousand items, is not read from there.
    pub embedding: Option<Vec<f32>>,
}

impl ChromaReader {
    /// Opens the directory that a `chromadb.PersistentClient` was given, or the file `chroma.sqlite3` in it.
    ///
    /// # Errors
    /// For a file that does not exist, cannot be read, is held by another program, or belongs to something else than
    /// Chroma from version 0.4 on.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ChromaError> {
        let path = file_in(path.as_ref())?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            let has = |table: &str, column: &str| {
                let found = connection
                    .query_row("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", [table, column], |row| {
                        row.get::<_, i64>(0)
                    })
                    .optional();
                Ok::<bool, rusqlite::Error>(found?.is_some())
            };
            let wanted = [("collections", "name"), ("segments", "collection"), ("embeddings", "embedding_id")];
            for (table, column) in wanted.into_iter().chain([("embedding_metadata", "string_value")]) {
                if !has(table, column)? {
                    return Ok(None);
                }
            }
            let has_databases = has("collections", "database_id")?;
            let has_booleans = has("embedding_metadata", "bool_value")?;
            let has_lists = has("embedding_metadata_array", "string_value")?;
            Ok(Some((connection, has_databases, has_booleans, has_lists)))
        };
        let opened = open().map_err(|e: rusqlite::Error| ChromaError::of(&path, e))?;
        let Some((connection, has_databases, has_booleans, has_lists)) = opened else {
            return Err(ChromaError::ForeignDatabase { path });
        };
        Ok(Self { connection, path, has_databases, has_booleans, has_lists, with_embeddings: false })
    }

    /// Reads vectors, too.
    #[must_use]
    pub fn with_embeddings(mut self, with_embeddings: bool) -> Self {
        self.with_embeddings = with_embeddings;
        self
    }

    /// All collections, by tenant, database and name.
    ///
    /// # Errors
    /// For a file that is held by another program or damaged.
    pub fn collections(&self) -> Result<Vec<ChromaCollection>, ChromaError> {
        let (place, join) = if self.has_databases {
            ("d.tenant_id, d.name", "LEFT JOIN databases d ON d.id = c.database_id")
        } else {
            ("NULL, NULL", "")
        };
        let sql = format!(
            "SELECT c.id, c.name, c.dimension, {place},
                    (SELECT count(*) FROM segments s JOIN embeddings e ON e.segment_id = s.id
                     WHERE s.collection = c.id AND s.scope = 'METADATA')
             FROM collections c {join} ORDER BY 4, 5, 2, 1"
        );
        let read = |row: &Row<'_>| {
            Ok(ChromaCollection {
                id: row.get(0)?,
                name: row.get(1)?,
                dimension: row.get::<_, Option<u32>>(2)?.map(|n| n as usize),
                tenant: row.get::<_, Option<String>>(3)?.unwrap_or_else(|| "default_tenant".into()),
                database: row.get::<_, Option<String>>(4)?.unwrap_or_else(|| "default_database".into()),
                items: row.get(5)?,
            })
        };
        let mut statement = self.ask(self.connection.prepare(&sql))?;
        self.ask(statement.query_map([], read).and_then(Iterator::collect))
    }

    /// The next items of a collection after a position, at most `limit` of them; fewer when it ends, none after its
    /// end.
    ///
    /// # Errors
    /// As [`collections`](Self::collections).
    pub fn page(
        &self,
        collection: &ChromaCollection,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ChromaItem>, ChromaError> {
        self.ask(self.read_page(collection, after.unwrap_or(i64::MIN), limit))
    }

    fn read_page(&self, collection: &ChromaCollection, after: i64, limit: usize) -> rusqlite::Result<Vec<ChromaItem>> {
        let of_page = "SELECT e.id FROM embeddings e JOIN segments s ON s.id = e.segment_id
             WHERE s.collection = ?1 AND s.scope = 'METADATA' AND e.id > ?2 ORDER BY e.id LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let page = params![collection.id, after, limit];
        let mut items = BTreeMap::new();
        let sql = format!("SELECT id, embedding_id, created_at FROM embeddings WHERE id IN ({of_page})");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(page)?;
        while let Some(row) = rows.next()? {
            let (position, id): (i64, String) = (row.get(0)?, row.get(1)?);
            let created_at = row.get::<_, Option<String>>(2)?.and_then(|text| text.parse().ok());
            let metadata = Map::new();
            items.insert(position, ChromaItem { position, id, document: None, metadata, created_at, embedding: None });
        }
        let boolean = if self.has_booleans { "bool_value" } else { "NULL" };
        let columns = format!("id, key, string_value, int_value, float_value, {boolean}");
        let sql = format!("SELECT {columns} FROM embedding_metadata WHERE id IN ({of_page}) ORDER BY id, key");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(page)?;
        while let Some(row) = rows.next()? {
            let (position, key): (i64, String) = (row.get(0)?, row.get(1)?);
            let Some(item) = items.get_mut(&position) else { continue };
            let value = value(row)?;
            if key == DOCUMENT {
                item.document = value.as_str().map(str::to_owned);
            } else if !key.starts_with(OWN_KEY_PREFIX) {
                item.metadata.insert(key, value);
            }
        }
        if self.has_lists {
            let columns = "id, key, string_value, int_value, float_value, bool_value";
            let sql = format!("SELECT {columns} FROM embedding_metadata_array WHERE id IN ({of_page}) ORDER BY rowid");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query(page)?;
            while let Some(row) = rows.next()? {
                let (position, key): (i64, String) = (row.get(0)?, row.get(1)?);
                let Some(item) = items.get_mut(&position) else { continue };
                if let Value::Array(list) = item.metadata.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                    list.push(value(row)?);
                }
            }
        }
        if self.with_embeddings {
            self.read_vectors(collection, &mut items)?;
        }
        Ok(items.into_values().collect())
    }

    /// Chroma keeps a vector in its log until its vector index is written out; the last entry is the one that holds.
    fn read_vectors(
        &self,
        collection: &ChromaCollection,
        items: &mut BTreeMap<i64, ChromaItem>,
    ) -> rusqlite::Result<()> {
        let by_id: BTreeMap<String, i64> = items.values().map(|item| (item.id.clone(), item.position)).collect();
        let wanted = Value::from_iter(by_id.keys().cloned()).to_string();
        let mut statement = self.connection.prepare_cached(
            "SELECT id, vector, max(seq_id) FROM embeddings_queue
             WHERE substr(topic, -length(?1)) = ?1 AND vector IS NOT NULL AND encoding = 'FLOAT32'
                   AND id IN (SELECT value FROM json_each(?2))
             GROUP BY id",
        )?;
        let mut rows = statement.query(params![collection.id, wanted])?;
        while let Some(row) = rows.next()? {
            let (id, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if let Some(item) = by_id.get(&id).and_then(|position| items.get_mut(position)) {
                let (floats, []) = bytes.as_chunks::<4>() else { continue };
                item.embedding = Some(floats.iter().map(|float| f32::from_le_bytes(*float)).collect());
            }
        }
        Ok(())
    }

    fn ask<T>(&self, answer: rusqlite::Result<T>) -> Result<T, ChromaError> {
        answer.map_err(|e| ChromaError::of(&self.path, e))
    }
}

/// The value of a row of metadata: one of its four last columns.
fn value(row: &Row<'_>) -> rusqlite::Result<Value> {
    if let Some(text) = row.get::<_, Option<String>>(2)? {
        return Ok(Value::String(text));
    }
    if let Some(number) = row.get::<_, Option<i64>>(3)? {
        return Ok(Value::from(number));
    }
    if let Some(number) = row.get::<_, Option<f64>>(4)? {
        return Ok(Value::from(number));
    }
    Ok(row.get::<_, Option<bool>>(5)?.map_or(Value::Null, Value::Bool))
}

fn file_in(path: &Path) -> Result<PathBuf, ChromaError> {
    let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
    if file.is_file() {
        return Ok(file);
    }
    if path.join("chroma-collections.parquet").exists() {
        return Err(ChromaError::OldVersion { path: path.to_owned() });
    }
    let missing = if path.is_dir() { format!("{FILE} in {}", path.display()) } else { path.display().to_string() };
    Err(ChromaError::Missing { missing })
}

#[cfg(test)]
mod tests;
