//! The table `origins`: what each index was made with.

use memory_engine_core::Index;
use memory_engine_sql::{
    embedding_versions::{EmbeddingVersions, PARTS},
    index_metadata::IndexMetadata,
};
use sqlx::{PgConnection, Row};

use crate::database::error::PostgresError;

/// Reads what a part of the database was made with.
pub(crate) async fn maker(connection: &mut PgConnection, part: &str) -> Result<Option<String>, PostgresError> {
    let sql = "SELECT made_by FROM origins WHERE part = $1";
    Ok(sqlx::query_scalar(sql).bind(part).fetch_optional(connection).await?)
}

/// Writes one row of the table.
pub(crate) async fn write(connection: &mut PgConnection, part: &str, made_by: &str) -> Result<(), PostgresError> {
    sqlx::query(
        "INSERT INTO origins (part, made_by) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET made_by = excluded.made_by",
    )
    .bind(part)
    .bind(made_by)
    .execute(connection)
    .await?;
    Ok(())
}

/// Reads which versions of the vectors there are.
pub(crate) async fn versions(connection: &mut PgConnection) -> Result<EmbeddingVersions, PostgresError> {
    let rows = sqlx::query("SELECT part, made_by FROM origins WHERE part = ANY ($1)")
        .bind(PARTS.to_vec())
        .fetch_all(connection)
        .await?;
    let mut versions = EmbeddingVersions::default();
    for row in rows {
        versions.read_part(row.try_get("part")?, row.try_get("made_by")?);
    }
    Ok(versions)
}

/// Returns true if this process makes all indexes with what the database's were made with.
pub(crate) async fn fits(connection: &mut PgConnection, metadata: &IndexMetadata) -> Result<bool, PostgresError> {
    for index in Index::ALL {
        if maker(connection, index.job().as_str()).await?.as_deref() != Some(metadata.maker(index)) {
            return Ok(false);
        }
    }
    Ok(true)
}
