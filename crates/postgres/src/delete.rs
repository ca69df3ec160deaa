//! Deleting records, and what is left of them.

use std::collections::BTreeMap;

use memory_core::{RecordId, Scope, Timestamp, Tombstone};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    failure::Failure,
    namespaces,
    put::{self, remove_derived},
    records,
    scopes::{self, Reach, uuid},
    statement::Statement,
};

/// Deletes the records of these ids within reach, and gives those that were there.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &Reach,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<Vec<RecordId>, Failure> {
    // Of a tenant with many users only those are locked who have such a record.
    let namespaces = match reach.is_tenant_wide() {
        false => reach.namespaces(connection).await?,
        true => records::find(connection, reach, ids).await?.into_iter().map(|stored| stored.ns).collect(),
    };
    namespaces::lock_known(connection, &namespaces).await?;
    let mut tombstones: BTreeMap<Uuid, Vec<Tombstone>> = BTreeMap::new();
    for stored in records::find(connection, reach, ids).await? {
        let content_hash = stored.record.content_hash();
        let tombstone = Tombstone { id: stored.record.id, scope: stored.record.scope, content_hash, deleted_at };
        tombstones.entry(stored.ns).or_default().push(tombstone);
    }
    let mut found: FxHashSet<RecordId> = FxHashSet::default();
    for (ns, tombstones) in &tombstones {
        found.extend(tombstones.iter().map(|tombstone| tombstone.id));
        bury_in(connection, *ns, &tombstones.iter().collect::<Vec<_>>()).await?;
    }
    // In the order in which they were asked for, each once.
    Ok(ids.iter().copied().filter(|id| found.remove(id)).collect())
}

/// Removes what the tombstones name, keeps them, and counts the new ones.
pub(crate) async fn bury(connection: &mut PgConnection, tombstones: &[Tombstone]) -> Result<u64, Failure> {
    namespaces::lock(connection, tombstones.iter().map(|tombstone| &tombstone.scope)).await?;
    let mut of: BTreeMap<Uuid, Vec<&Tombstone>> = BTreeMap::new();
    for tombstone in tombstones {
        of.entry(scopes::namespace(&tombstone.scope)).or_default().push(tombstone);
    }
    let mut new = 0;
    for (ns, tombstones) in of {
        let ids: Vec<_> = tombstones.iter().map(|tombstone| tombstone.id).collect();
        let mut there: FxHashMap<RecordId, Scope> = FxHashMap::default();
        for record in records::named(connection, ns, &ids).await? {
            there.insert(record.id, record.scope);
        }
        let mut taken = Vec::new();
        for tombstone in tombstones {
            // One that names a record at another address speaks of another record.
            if there.get(&tombstone.id).is_none_or(|scope| *scope == tombstone.scope) {
                there.remove(&tombstone.id);
                taken.push(tombstone);
            }
        }
        let mut places: Vec<_> = taken.iter().map(|tombstone| &tombstone.scope).collect();
        places.sort();
        places.dedup();
        scopes::settle(connection, ns, &places).await?;
        new += bury_in(connection, ns, &taken).await?;
    }
    Ok(new)
}

/// Does so in one namespace, whose addresses are known; of two tombstones of one id the later one is kept.
async fn bury_in(connection: &mut PgConnection, ns: Uuid, tombstones: &[&Tombstone]) -> Result<u64, Failure> {
    let last: BTreeMap<Uuid, &Tombstone> =
        tombstones.iter().map(|tombstone| (uuid(tombstone.id), *tombstone)).collect();
    let ids: Vec<Uuid> = last.keys().copied().collect();
    remove_derived(connection, ns, &ids).await?;
    records::remove(connection, ns, &ids).await?;
    let hashes = |tombstones: &mut dyn Iterator<Item = &Tombstone>| -> Vec<Vec<u8>> {
        tombstones.map(|tombstone| tombstone.content_hash.as_bytes().to_vec()).collect()
    };
    sqlx::query(
        "INSERT INTO barred_contents (ns, content_hash) SELECT DISTINCT $1::uuid, x.hash FROM unnest($2::bytea[]) x (hash)
         ON CONFLICT (ns, content_hash) DO NOTHING",
    )
    .bind(ns)
    .bind(hashes(&mut tombstones.iter().copied()))
    .execute(&mut *connection)
    .await?;
    let replaced = sqlx::query("DELETE FROM tombstones b WHERE b.ns = $1 AND b.id = ANY ($2)")
        .bind(ns)
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "INSERT INTO tombstones (ns, id, address, content_hash, deleted_at)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::bytea[], $5::bigint[]) x",
    )
    .bind(ns)
    .bind(&ids)
    .bind(last.values().map(|tombstone| scopes::address(&tombstone.scope)).collect::<Vec<_>>())
    .bind(hashes(&mut last.values().copied()))
    .bind(last.values().map(|tombstone| tombstone.deleted_at.as_micros()).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(ids.len() as u64 - replaced.rows_affected())
}

/// A page of tombstones within reach, by id.
pub(crate) async fn tombstones(
    connection: &mut PgConnection,
    reach: &Reach,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, Failure> {
    let mut statement = Statement::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, b.id, b.content_hash, b.deleted_at FROM tombstones b
         JOIN namespaces n ON n.ns = b.ns JOIN addresses a ON a.ns = b.ns AND a.address = b.address WHERE ",
    );
    reach.holds("b", &mut statement);
    if let Some(after) = after {
        statement.push(" AND b.id > ").bind(uuid(after));
    }
    statement.push(if reach.is_tenant_wide() { " ORDER BY b.id, n.username" } else { " ORDER BY b.id" });
    statement.push(" LIMIT ").bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Tombstone {
            scope: scopes::read(row)?,
            id: scopes::record_id(row.try_get(5)?),
            content_hash: put::hash(row.try_get(6)?)?,
            deleted_at: Timestamp::from_micros(row.try_get(7)?),
        })
    };
    statement.rows(connection).await?.iter().map(read).collect()
}
