//! The vectors of the records.

use std::collections::BTreeMap;

use memory_core::{Embedding, RecordId};
use memory_vector_store::VectorEntry;
use pgvector::Vector;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    failure::Failure,
    namespaces, records,
    scopes::{self, Reach, uuid},
};

/// A vector as it is kept. The server reckons with single precision, where the squares of very long and very short vectors
/// do not fit: those get length one, which changes nothing under a cosine. All others stay as they are, so that every
/// backend computes scores from the same numbers.
pub(crate) fn kept(embedding: &Embedding) -> Vector {
    let square: f64 = embedding.values().iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    let fits = (1e-16..1e16).contains(&square);
    let kept = if fits { embedding.clone() } else { embedding.clone().normalized() };
    Vector::from(kept.values().to_vec())
}

/// Keeps the vectors of the records that are still as the entries have them.
pub(crate) async fn upsert(connection: &mut PgConnection, entries: &[VectorEntry]) -> Result<(), Failure> {
    let mut of: BTreeMap<Uuid, BTreeMap<RecordId, &VectorEntry>> = BTreeMap::new();
    for entry in entries {
        of.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, entries) in of {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = records::current(connection, ns, &ids).await?;
        let fresh = current.iter().filter_map(|now| entries.get(&now.id).filter(|entry| now.is(&entry.record)));
        insert(connection, ns, &fresh.copied().collect::<Vec<_>>()).await?;
    }
    Ok(())
}

async fn insert(connection: &mut PgConnection, ns: Uuid, entries: &[&VectorEntry]) -> Result<(), Failure> {
    if entries.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = entries.iter().map(|entry| uuid(entry.record.id)).collect();
    let addresses: Vec<Uuid> = entries.iter().map(|entry| scopes::address(&entry.record.scope)).collect();
    remove(connection, ns, &ids).await?;
    sqlx::query(
        "WITH new AS (
            INSERT INTO vectors (ns, id, address, embedding)
            SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::vector[]) x RETURNING address
         ), sums AS (
            SELECT address, count(*) AS vectors FROM new GROUP BY address
         )
         UPDATE addresses a SET vectors = a.vectors + s.vectors FROM sums s WHERE a.ns = $1 AND a.address = s.address",
    )
    .bind(ns)
    .bind(ids)
    .bind(addresses)
    .bind(entries.iter().map(|entry| kept(&entry.embedding)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the vectors of these records, and counts those that had any.
pub(crate) async fn remove(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<u64, Failure> {
    let gone: i64 = sqlx::query_scalar(
        "WITH gone AS (
            DELETE FROM vectors v WHERE v.ns = $1 AND v.id = ANY ($2) RETURNING v.address
         ), sums AS (
            SELECT address, count(*) AS vectors FROM gone GROUP BY address
         ), kept AS (
            UPDATE addresses a SET vectors = a.vectors - s.vectors FROM sums s WHERE a.ns = $1 AND a.address = s.address
         )
         SELECT count(*) FROM gone",
    )
    .bind(ns)
    .bind(ids)
    .fetch_one(connection)
    .await?;
    Ok(u64::try_from(gone).unwrap_or_default())
}

/// Removes the vectors of these records within reach, and counts those that had any.
pub(crate) async fn delete(connection: &mut PgConnection, reach: &Reach, ids: &[RecordId]) -> Result<u64, Failure> {
    let mut gone = 0;
    for (ns, ids) in records::keys(connection, reach, ids).await? {
        namespaces::lock_known(connection, &[ns]).await?;
        gone += remove(connection, ns, &ids).await?;
    }
    Ok(gone)
}

/// Removes all vectors: a statement for all tenants, run when an index is rebuilt.
pub(crate) async fn clear(connection: &mut PgConnection) -> Result<(), Failure> {
    sqlx::raw_sql("TRUNCATE vectors; UPDATE addresses SET vectors = 0").execute(connection).await?;
    Ok(())
}
