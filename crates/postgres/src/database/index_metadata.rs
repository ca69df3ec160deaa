//! Reads and writes the table `index_metadata`: the analyzer or embedding space that each index was built with.

use memory_engine_core::Index;
use memory_engine_sql::{
    embedding_versions::{PARTS, StoredEmbeddingVersions},
    index_metadata::IndexMetadata,
};
use sqlx::{PgConnection, Row};

use crate::database::error::PostgresError;

/// Returns the analyzer or embedding space that a part of the database was built with.
pub(crate) async fn read(connection: &mut PgConnection, part: &str) -> Result<Option<String>, PostgresError> {
    let sql = "SELECT made_by FROM index_metadata WHERE part = $1";
    Ok(sqlx::query_scalar(sql).bind(part).fetch_optional(connection).await?)
}

/// Writes one row of the table.
pub(crate) async fn write(connection: &mut PgConnection, part: &str, made_by: &str) -> Result<(), PostgresError> {
    let sql = "INSERT INTO index_metadata (part, made_by) VALUES ($1, $2)
               ON CONFLICT (part) DO UPDATE SET made_by = excluded.made_by";
    sqlx::query(sql).bind(part).bind(made_by).execute(connection).await?;
    Ok(())
}

/// Reads the embedding versions of the database.
pub(crate) async fn read_versions(connection: &mut PgConnection) -> Result<StoredEmbeddingVersions, PostgresError> {
    let rows = sqlx::query("SELECT part, made_by FROM index_metadata WHERE part = ANY ($1)")
        .bind(PARTS.to_vec())
        .fetch_all(connection)
        .await?;
    let mut versions = StoredEmbeddingVersions::default();
    for row in rows {
        versions.read_part(row.try_get("part")?, row.try_get("made_by")?);
    }
    Ok(versions)
}

/// Returns true if all indexes of the database were built with the analyzer and the embedding space of this process.
pub(crate) async fn matches(connection: &mut PgConnection, metadata: &IndexMetadata) -> Result<bool, PostgresError> {
    for index in Index::ALL {
        if read(connection, index.job().as_str()).await?.as_deref() != Some(metadata.maker(index)) {
            return Ok(false);
        }
    }
    Ok(true)
}
