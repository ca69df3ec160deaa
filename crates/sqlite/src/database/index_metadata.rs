//! The table `index_metadata`: the analyzer and the embedding space that each index was made with.

use memory_engine_core::Index;
use memory_engine_sql::{
    embedding_versions::{PARTS, StoredEmbeddingVersions},
    index_metadata::IndexMetadata,
};
use rusqlite::{Connection, OptionalExtension};

use crate::database::error::SqliteError;

/// Returns the analyzer or the embedding space that an index was made with; `None` for a new database.
pub(crate) fn maker(connection: &Connection, index: Index) -> rusqlite::Result<Option<String>> {
    read(connection, index.job().as_str())
}

/// Reads one row of the table.
pub(crate) fn read(connection: &Connection, part: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT made_by FROM index_metadata WHERE part = ?1")?
        .query_row([part], |row| row.get("made_by"))
        .optional()
}

/// Writes one row of the table.
pub(crate) fn write(connection: &Connection, part: &str, made_by: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES (?1, ?2)")?
        .execute([part, made_by])?;
    Ok(())
}

/// Returns the embedding versions. The caller has a transaction, since this runs a statement for each part: for a list
/// of parts, SQLite would create a temporary index, and every vector search reads them.
pub(crate) fn versions(connection: &Connection) -> Result<StoredEmbeddingVersions, SqliteError> {
    let mut versions = StoredEmbeddingVersions::default();
    for part in PARTS {
        if let Some(made_by) = read(connection, part)? {
            versions.read_part(part, made_by);
        }
    }
    Ok(versions)
}

/// Checks that no other process has rebuilt the index with another analyzer or space since this one opened the file.
///
/// # Errors
/// `SchemaMismatch`.
pub(crate) fn check(
    connection: &Connection,
    metadata: &IndexMetadata,
    index: Index,
    operation: &'static str,
) -> Result<(), SqliteError> {
    Ok(metadata.check(index, maker(connection, index)?.as_deref(), operation)?)
}

/// Returns true if all indexes were made with the analyzer and the embedding space of this process.
pub(crate) fn matches(connection: &Connection, metadata: &IndexMetadata) -> Result<bool, SqliteError> {
    for index in Index::ALL {
        if maker(connection, index)?.as_deref() != Some(metadata.maker(index)) {
            return Ok(false);
        }
    }
    Ok(true)
}
