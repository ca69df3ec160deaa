//! Reads the SQLite database of a persistent Chroma client.
//!
//! Tested with the databases of chromadb 0.5.23 and 1.5.9. The tables have the same form since version 0.4.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use memory_engine_core::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::error::ChromaError;

/// Maximum time to wait for another program that locks the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const DATABASE_FILE: &str = "chroma.sqlite3";
/// The metadata key under which Chroma stores the document.
const DOCUMENT_KEY: &str = "chroma:document";
/// Prefix of metadata keys that Chroma reserves.
const RESERVED_KEY_PREFIX: &str = "chroma:";
/// Columns that every Chroma database has.
const REQUIRED_COLUMNS: [(&str, &str); 4] = [
    ("collections", "name"),
    ("segments", "collection"),
    ("embeddings", "embedding_id"),
    ("embedding_metadata", "string_value"),
];
/// Selects the row numbers of a page of items.
const SELECT_PAGE: &str = "SELECT e.id FROM embeddings e JOIN segments s ON s.id = e.segment_id
     WHERE s.collection = ?1 AND s.scope = 'METADATA' AND e.id > ?2 ORDER BY e.id LIMIT ?3";

/// Reads the database of a persistent Chroma client without changing it.
///
/// Every call blocks its thread. Concurrent writes of Chroma may or may not be visible.
#[derive(Debug)]
pub struct ChromaReader {
    connection: Connection,
    path: PathBuf,
    has_databases: bool,
    has_booleans: bool,
    has_lists: bool,
    with_embeddings: bool,
}

/// A collection of a Chroma database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChromaCollection {
    /// The id.
    pub id: String,
    /// The name, unique within its database.
    pub name: String,
    /// The name of its database, `default_database` by default.
    pub database: String,
    /// The tenant of the database, `default_tenant` by default.
    pub tenant: String,
    /// Number of dimensions of its vectors; `None` if no item was ever added.
    pub dimension: Option<usize>,
    /// Number of items.
    pub items: u64,
}

/// An item of a collection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChromaItem {
    /// The position. Items of a collection are returned in the order of their positions.
    pub position: i64,
    /// The id, unique within its collection.
    pub id: String,
    /// The document, if it has one.
    pub document: Option<String>,
    /// The metadata: texts, numbers, booleans, and lists of them.
    pub metadata: Map<String, Value>,
    /// The time at which it was added.
    pub created_at: Option<Timestamp>,
    /// The vector, if [`with_embeddings`](ChromaReader::with_embeddings) is set and Chroma's write-ahead log contains
    /// it. After some thousand items, Chroma moves vectors to its vector index, which is not read.
    pub embedding: Option<Vec<f32>>,
}

impl ChromaReader {
    /// Opens the directory of a `chromadb.PersistentClient`, or the file `chroma.sqlite3` in it.
    ///
    /// # Errors
    /// If the file does not exist, cannot be read, is locked by another program, or is not a database of Chroma 0.4 or
    /// later.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ChromaError> {
        let path = database_file(path.as_ref())?;
        match Self::open_file(&path) {
            Ok(Some(reader)) => Ok(reader),
            Ok(None) => Err(ChromaError::ForeignDatabase { path }),
            Err(error) => Err(ChromaError::of(&path, error)),
        }
    }

    /// Opens a database file. Returns `None` if it does not have Chroma's tables.
    fn open_file(path: &Path) -> rusqlite::Result<Option<Self>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        for (table, column) in REQUIRED_COLUMNS {
            if !has_column(&connection, table, column)? {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            has_databases: has_column(&connection, "collections", "database_id")?,
            has_booleans: has_column(&connection, "embedding_metadata", "bool_value")?,
            has_lists: has_column(&connection, "embedding_metadata_array", "string_value")?,
            connection,
            path: path.to_owned(),
            with_embeddings: false,
        }))
    }

    /// Sets whether vectors are read. Default: false.
    #[must_use]
    pub fn with_embeddings(mut self, with_embeddings: bool) -> Self {
        self.with_embeddings = with_embeddings;
        self
    }

    /// Returns all collections, ordered by tenant, database and name.
    ///
    /// # Errors
    /// If the file is locked by another program or damaged.
    pub fn collections(&self) -> Result<Vec<ChromaCollection>, ChromaError> {
        let (database_columns, join) = if self.has_databases {
            ("d.tenant_id, d.name", "LEFT JOIN databases d ON d.id = c.database_id")
        } else {
            ("NULL, NULL", "")
        };
        let sql = format!(
            "SELECT c.id, c.name, c.dimension, {database_columns},
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
        let read_all = || self.connection.prepare(&sql)?.query_map([], read)?.collect();
        self.map_error(read_all())
    }

    /// Returns the first `limit` items of a collection after a position. An empty page means the end of the collection.
    ///
    /// # Errors
    /// As [`collections`](Self::collections).
    pub fn page(
        &self,
        collection: &ChromaCollection,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ChromaItem>, ChromaError> {
        self.map_error(self.read_page(collection, after.unwrap_or(i64::MIN), limit))
    }

    fn read_page(&self, collection: &ChromaCollection, after: i64, limit: usize) -> rusqlite::Result<Vec<ChromaItem>> {
        let page = PageBounds { collection, after, limit: i64::try_from(limit).unwrap_or(i64::MAX) };
        let mut items = self.read_items(page)?;
        self.read_metadata(page, &mut items)?;
        if self.has_lists {
            self.read_metadata_lists(page, &mut items)?;
        }
        if self.with_embeddings {
            self.read_vectors(collection, &mut items)?;
        }
        Ok(items.into_values().collect())
    }

    /// Reads the items of a page without metadata and vectors, by position.
    fn read_items(&self, page: PageBounds<'_>) -> rusqlite::Result<BTreeMap<i64, ChromaItem>> {
        let sql = format!("SELECT id, embedding_id, created_at FROM embeddings WHERE id IN ({SELECT_PAGE})");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![page.collection.id, page.after, page.limit])?;
        let mut items = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let item = ChromaItem {
                position: row.get(0)?,
                id: row.get(1)?,
                document: None,
                metadata: Map::new(),
                created_at: row.get::<_, Option<String>>(2)?.and_then(|text| text.parse().ok()),
                embedding: None,
            };
            items.insert(item.position, item);
        }
        Ok(items)
    }

    /// Adds documents and single metadata values to the items of a page.
    fn read_metadata(&self, page: PageBounds<'_>, items: &mut BTreeMap<i64, ChromaItem>) -> rusqlite::Result<()> {
        let boolean = if self.has_booleans { "bool_value" } else { "NULL" };
        let columns = format!("id, key, string_value, int_value, float_value, {boolean}");
        let sql = format!("SELECT {columns} FROM embedding_metadata WHERE id IN ({SELECT_PAGE}) ORDER BY id, key");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![page.collection.id, page.after, page.limit])?;
        while let Some(row) = rows.next()? {
            let Some(item) = items.get_mut(&row.get(0)?) else { continue };
            let key: String = row.get(1)?;
            let value = metadata_value(row)?;
            if key == DOCUMENT_KEY {
                item.document = value.as_str().map(str::to_owned);
            } else if !key.starts_with(RESERVED_KEY_PREFIX) {
                item.metadata.insert(key, value);
            }
        }
        Ok(())
    }

    /// Adds metadata lists to the items of a page.
    fn read_metadata_lists(&self, page: PageBounds<'_>, items: &mut BTreeMap<i64, ChromaItem>) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT id, key, string_value, int_value, float_value, bool_value FROM embedding_metadata_array
             WHERE id IN ({SELECT_PAGE}) ORDER BY rowid"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![page.collection.id, page.after, page.limit])?;
        while let Some(row) = rows.next()? {
            let Some(item) = items.get_mut(&row.get(0)?) else { continue };
            let key: String = row.get(1)?;
            if let Value::Array(list) = item.metadata.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                list.push(metadata_value(row)?);
            }
        }
        Ok(())
    }

    /// Adds vectors from Chroma's write-ahead log, which contains a vector until the vector index is written. The last
    /// entry of an item is the current one.
    fn read_vectors(
        &self,
        collection: &ChromaCollection,
        items: &mut BTreeMap<i64, ChromaItem>,
    ) -> rusqlite::Result<()> {
        let positions: BTreeMap<String, i64> = items.values().map(|item| (item.id.clone(), item.position)).collect();
        let ids = Value::from_iter(positions.keys().cloned()).to_string();
        let mut statement = self.connection.prepare_cached(
            "SELECT id, vector, max(seq_id) FROM embeddings_queue
             WHERE substr(topic, -length(?1)) = ?1 AND vector IS NOT NULL AND encoding = 'FLOAT32'
                   AND id IN (SELECT value FROM json_each(?2))
             GROUP BY id",
        )?;
        let mut rows = statement.query(params![collection.id, ids])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let bytes: Vec<u8> = row.get(1)?;
            if let Some(item) = positions.get(&id).and_then(|position| items.get_mut(position)) {
                let (floats, []) = bytes.as_chunks::<4>() else { continue };
                item.embedding = Some(floats.iter().map(|float| f32::from_le_bytes(*float)).collect());
            }
        }
        Ok(())
    }

    fn map_error<T>(&self, result: rusqlite::Result<T>) -> Result<T, ChromaError> {
        result.map_err(|e| ChromaError::of(&self.path, e))
    }
}

/// The items of a collection after a position, at most `limit`.
#[derive(Debug, Clone, Copy)]
struct PageBounds<'c> {
    collection: &'c ChromaCollection,
    after: i64,
    limit: i64,
}

/// Returns true if a table has a column.
fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
    let found = connection.query_row(sql, [table, column], |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.is_some())
}

/// Returns the value of a metadata row, which is in one of the columns 2 to 5.
fn metadata_value(row: &Row<'_>) -> rusqlite::Result<Value> {
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

/// Returns the database file of a directory, or the file itself.
fn database_file(path: &Path) -> Result<PathBuf, ChromaError> {
    let file = if path.is_dir() { path.join(DATABASE_FILE) } else { path.to_owned() };
    if file.is_file() {
        return Ok(file);
    }
    if path.join("chroma-collections.parquet").exists() {
        return Err(ChromaError::OldVersion { path: path.to_owned() });
    }
    let missing =
        if path.is_dir() { format!("{DATABASE_FILE} in {}", path.display()) } else { path.display().to_string() };
    Err(ChromaError::Missing { missing })
}

#[cfg(test)]
mod tests;
