//! The vectors of the records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Embedding, Record, RecordId};
use memory_engine_vector_store::VectorEntry;
use pgvector::Vector;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, index_metadata},
    records::namespaces,
    records::row,
    records::scopes::{self, CoveredScope, uuid},
};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::index_metadata::IndexMetadata;

/// A vector as it is kept. The server reckons with single precision, where the squares of very long and very short
/// vectors do not fit: those get length one, which changes nothing under a cosine. All others stay as they are, so
/// that every backend computes scores from the same numbers.
pub(crate) fn kept(embedding: &Embedding) -> Vector {
    let square: f64 = embedding.values().iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    let fits = (1e-16..1e16).contains(&square);
    let kept = if fits { embedding.clone() } else { embedding.clone().normalized() };
    Vector::from(kept.values().to_vec())
}

/// Keeps the vectors of the records that are still as the entries have them, in the generation of this process' space.
pub(crate) async fn upsert(
    connection: &mut PgConnection,
    origin: &IndexMetadata,
    entries: &[VectorEntry],
) -> Result<(), PostgresError> {
    let mut of: BTreeMap<Uuid, BTreeMap<RecordId, &VectorEntry>> = BTreeMap::new();
    for entry in entries {
        of.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    // After the lock: generations change between two writes.
    let (_, table) = index_metadata::versions(connection).await?.role(origin, "vector upsert")?;
    for (ns, entries) in of {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current(connection, ns, &ids).await?;
        let fresh = current.iter().filter_map(|now| entries.get(&now.id).filter(|entry| now.is(&entry.record)));
        let fresh: Vec<_> = fresh.map(|entry| (&*entry.record, &entry.embedding)).collect();
        let ids: Vec<Uuid> = fresh.iter().map(|(record, _)| uuid(record.id)).collect();
        remove_from(connection, table, ns, &ids).await?;
        insert(connection, table, &fresh).await?;
    }
    Ok(())
}

/// Puts vectors into a table, and counts them.
macro_rules! inserting {
    ($table:literal) => {
        concat!(
            "WITH new AS (
                INSERT INTO ",
            $table,
            " (ns, id, address, embedding)
                SELECT x.* FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::vector[]) x RETURNING ns, address
             ), sums AS (
                SELECT ns, address, count(*) AS vectors FROM new GROUP BY ns, address
             )
             UPDATE addresses a SET ",
            $table,
            " = a.",
            $table,
            " + s.vectors FROM sums s WHERE a.ns = s.ns AND a.address = s.address"
        )
    };
}

/// Takes vectors out of a table, and counts them.
macro_rules! removing {
    ($table:literal) => {
        concat!(
            "WITH gone AS (
                DELETE FROM ",
            $table,
            " v WHERE v.ns = $1 AND v.id = ANY ($2) RETURNING v.address, v.id
             ), sums AS (
                SELECT address, count(*) AS vectors FROM gone GROUP BY address
             ), kept AS (
                UPDATE addresses a SET ",
            $table,
            " = a.",
            $table,
            " - s.vectors FROM sums s WHERE a.ns = $1 AND a.address = s.address
             )
             SELECT id FROM gone"
        )
    };
}

/// Keeps the vectors of records that have none, of however many namespaces.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    table: VectorTable,
    entries: &[(&Record, &Embedding)],
) -> Result<(), PostgresError> {
    if entries.is_empty() {
        return Ok(());
    }
    let (mut namespaces, mut ids, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    for (record, _) in entries {
        namespaces.push(scopes::namespace(&record.scope));
        ids.push(uuid(record.id));
        addresses.push(scopes::address(&record.scope));
    }
    sqlx::query(match table {
        VectorTable::First => inserting!("vectors"),
        VectorTable::Second => inserting!("second_vectors"),
    })
    .bind(namespaces)
    .bind(ids)
    .bind(addresses)
    .bind(entries.iter().map(|(_, embedding)| kept(embedding)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the vectors of these records, of every generation, and counts those that had any.
pub(crate) async fn remove(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let mut gone = BTreeSet::new();
    for table in VectorTable::ALL {
        gone.extend(remove_from(connection, table, ns, ids).await?);
    }
    Ok(gone.len() as u64)
}

async fn remove_from(
    connection: &mut PgConnection,
    table: VectorTable,
    ns: Uuid,
    ids: &[Uuid],
) -> Result<Vec<Uuid>, PostgresError> {
    let gone = sqlx::query_scalar(match table {
        VectorTable::First => removing!("vectors"),
        VectorTable::Second => removing!("second_vectors"),
    });
    Ok(gone.bind(ns).bind(ids).fetch_all(connection).await?)
}

/// Removes the vectors of these records within reach, and counts those that had any.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<u64, PostgresError> {
    let mut gone = 0;
    for (ns, ids) in row::keys(connection, reach, ids).await? {
        namespaces::lock_known(connection, &[ns]).await?;
        gone += remove(connection, ns, &ids).await?;
    }
    Ok(gone)
}

/// Removes all vectors of a generation: a statement for all tenants, run when an index is rebuilt.
pub(crate) async fn clear(connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
    let name = table.name();
    let sql = format!("TRUNCATE {name}; UPDATE addresses SET {name} = 0 WHERE {name} <> 0");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

/// Counts the vectors in a table.
pub(crate) async fn count_vectors(connection: &mut PgConnection, table: VectorTable) -> Result<u64, PostgresError> {
    let sql = format!("SELECT coalesce(sum(a.{}), 0)::bigint FROM addresses a", table.name());
    let vectors: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(u64::try_from(vectors).unwrap_or_default())
}
