//! Stores and removes the vectors of records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{DamagedRecord, Embedding, MultiVector, RecordId, Scope};
use memory_engine_vector_store::VectorEntry;
use pgvector::Vector;
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, index_metadata, statement::StatementBuilder},
    rows::{
        namespaces, row,
        scopes::{self, CoveredScope, record_id, uuid},
    },
};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::index_metadata::IndexMetadata;

/// Returns the vector that is stored for an embedding.
///
/// The server computes in single precision, in which the squares of very long and very short vectors overflow or become
/// 0. Such vectors are normalised, which does not change a cosine. All others are stored unchanged, so that every
/// backend computes scores from the same numbers.
pub(crate) fn stored_vector(embedding: &Embedding) -> Vector {
    let square: f64 = embedding.values().iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    let is_representable = (1e-16..1e16).contains(&square);
    let stored = if is_representable { embedding.clone() } else { embedding.clone().normalized() };
    Vector::from(stored.values().to_vec())
}

/// Stores the vectors of the entries whose records have not changed, in the embedding version of this process.
pub(crate) async fn upsert(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    entries: &[VectorEntry],
) -> Result<(), PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, BTreeMap<RecordId, &VectorEntry>> = BTreeMap::new();
    for entry in entries {
        by_namespace.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    // Read after the lock: versions change between two writes.
    let (_, table) = index_metadata::read_versions(connection).await?.role(metadata, "vector upsert")?;
    for (namespace, entries) in by_namespace {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current_revisions(connection, namespace, &ids).await?;
        let fresh = current
            .iter()
            .filter_map(|revision| entries.get(&revision.id).filter(|entry| revision.matches(&entry.record)));
        let fresh: Vec<_> = fresh.copied().collect();
        let ids: Vec<Uuid> = fresh.iter().map(|entry| uuid(entry.record.id)).collect();
        remove_from(connection, table, namespace, &ids).await?;
        insert(connection, table, &fresh).await?;
    }
    Ok(())
}

/// SQL that inserts vectors into a table, and updates the numbers of vectors of their addresses.
macro_rules! insert_vectors {
    ($table:literal) => {
        concat!(
            "WITH new AS (
                INSERT INTO ",
            $table,
            " (namespace, id, scope, embedding, tokens)
                SELECT x.* FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::vector[], $5::bytea[]) x
                RETURNING namespace, scope
             ), sums AS (
                SELECT namespace, scope, count(*) AS vectors FROM new GROUP BY namespace, scope
             )
             UPDATE scopes a SET ",
            $table,
            " = a.",
            $table,
            " + s.vectors FROM sums s WHERE a.namespace = s.namespace AND a.scope = s.scope"
        )
    };
}

/// SQL that deletes vectors from a table, and updates the numbers of vectors of their addresses.
macro_rules! delete_vectors {
    ($table:literal) => {
        concat!(
            "WITH gone AS (
                DELETE FROM ",
            $table,
            " v WHERE v.namespace = $1 AND v.id = ANY ($2) RETURNING v.scope, v.id
             ), sums AS (
                SELECT scope, count(*) AS vectors FROM gone GROUP BY scope
             ), kept AS (
                UPDATE scopes a SET ",
            $table,
            " = a.",
            $table,
            " - s.vectors FROM sums s WHERE a.namespace = $1 AND a.scope = s.scope
             )
             SELECT id FROM gone"
        )
    };
}

/// Inserts vectors of records that have none, of any number of namespaces.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    table: VectorTable,
    entries: &[&VectorEntry],
) -> Result<(), PostgresError> {
    if entries.is_empty() {
        return Ok(());
    }
    sqlx::query(match table {
        VectorTable::First => insert_vectors!("vectors"),
        VectorTable::Second => insert_vectors!("secondary_vectors"),
    })
    .bind(entries.iter().map(|entry| scopes::namespace(&entry.record.scope)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| uuid(entry.record.id)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| scopes::address(&entry.record.scope)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| stored_vector(&entry.embedding)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| entry.tokens.as_ref().map(MultiVector::to_bytes)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the token vectors of records within a scope, in the order of `ids`.
pub(crate) async fn token_vectors(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<MultiVector>>, PostgresError> {
    let table = index_metadata::read_versions(connection).await?.serving_table(metadata, "token vectors")?;
    let table = match table {
        VectorTable::First => "vectors v",
        VectorTable::Second => "secondary_vectors v",
    };
    let mut statement = StatementBuilder::new("SELECT v.id, v.tokens FROM ");
    CoveredScope::of(scope).push_rows_by_id(table, "v", ids, &mut statement);
    let mut found: FxHashMap<RecordId, Option<MultiVector>> = FxHashMap::default();
    for row in statement.fetch_all(connection).await? {
        let bytes: Option<&[u8]> = row.try_get("tokens")?;
        let tokens = bytes.map(MultiVector::from_bytes).transpose();
        let id = record_id(row.try_get("id")?);
        if tokens.is_err() {
            DamagedRecord::new(id, table, "tokens").warn();
        }
        found.entry(id).or_insert(tokens.unwrap_or_default());
    }
    Ok(ids.iter().map(|id| found.get(id).cloned().flatten()).collect())
}

/// Removes the vectors of these records from every embedding version. Returns the number of records that had one.
pub(crate) async fn remove(connection: &mut PgConnection, namespace: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let mut removed = BTreeSet::new();
    for table in VectorTable::ALL {
        removed.extend(remove_from(connection, table, namespace, ids).await?);
    }
    Ok(removed.len() as u64)
}

async fn remove_from(
    connection: &mut PgConnection,
    table: VectorTable,
    namespace: Uuid,
    ids: &[Uuid],
) -> Result<Vec<Uuid>, PostgresError> {
    let query = sqlx::query_scalar(match table {
        VectorTable::First => delete_vectors!("vectors"),
        VectorTable::Second => delete_vectors!("secondary_vectors"),
    });
    Ok(query.bind(namespace).bind(ids).fetch_all(connection).await?)
}

/// Removes the vectors of these records in a scope. Returns the number of records that had one.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<u64, PostgresError> {
    let mut removed = 0;
    for (namespace, ids) in row::ids_by_namespace(connection, covered, ids).await? {
        namespaces::lock_known(connection, &[namespace]).await?;
        removed += remove(connection, namespace, &ids).await?;
    }
    Ok(removed)
}

/// Removes all vectors of an embedding version, of all tenants. Used when an index is rebuilt.
pub(crate) async fn clear(connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
    let name = table.name();
    let sql = format!("TRUNCATE {name}; UPDATE scopes SET {name} = 0 WHERE {name} <> 0");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

/// Counts the vectors in a table.
pub(crate) async fn count_vectors(connection: &mut PgConnection, table: VectorTable) -> Result<u64, PostgresError> {
    let sql = format!("SELECT coalesce(sum(a.{}), 0)::bigint FROM scopes a", table.name());
    let vectors: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(u64::try_from(vectors).unwrap_or_default())
}
