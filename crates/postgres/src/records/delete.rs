//! Deleting records, and what is left of them.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Deleted, RecordId, Removed, Scope, Timestamp, Tombstone};
use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::failure::Failure,
    database::statement::Statement,
    records::derivations,
    records::namespaces,
    records::put::{self, remove_derived},
    records::row,
    records::scopes::{self, Reach, uuid},
};

/// Deletes the records of these ids within reach, with what was made from them.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &Reach,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<Deleted, Failure> {
    // Of a tenant with many users only those are locked who have such a record.
    let namespaces = match reach.is_tenant_wide() {
        false => reach.namespaces(connection).await?,
        true => row::find(connection, reach, ids).await?.into_iter().map(|stored| stored.ns).collect(),
    };
    namespaces::lock_known(connection, &namespaces).await?;
    let mut tombstones: BTreeMap<Uuid, Vec<Tombstone>> = BTreeMap::new();
    for stored in row::find(connection, reach, ids).await? {
        let content_hash = stored.record.content_hash();
        let (id, scope) = (stored.record.id, stored.record.scope);
        let tombstone = Tombstone { id, scope, content_hash, deleted_at, withdrawn: false };
        tombstones.entry(stored.ns).or_default().push(tombstone);
    }
    let mut found: FxHashSet<RecordId> = FxHashSet::default();
    let (mut withdrawn, mut removed) = (BTreeSet::new(), Removed::default());
    for (ns, tombstones) in &tombstones {
        let own: Vec<RecordId> = tombstones.iter().map(|tombstone| tombstone.id).collect();
        bury_in(connection, *ns, &tombstones.iter().collect::<Vec<_>>(), &mut removed).await?;
        let kept = BTreeSet::new();
        let made = derivations::withdraw(connection, *ns, &own, &kept, deleted_at, &mut removed).await?;
        withdrawn.extend(made);
        found.extend(own);
    }
    withdrawn.retain(|id| !found.contains(id));
    // In the order in which they were asked for, each once.
    let mut ids: Vec<RecordId> = ids.iter().copied().filter(|id| found.remove(id)).collect();
    removed.withdrawn = withdrawn.len() as u64;
    ids.extend(withdrawn);
    Ok(Deleted { ids, removed })
}

/// Removes what the tombstones name, keeps them, and counts the new ones.
pub(crate) async fn bury(
    connection: &mut PgConnection,
    tombstones: &[Tombstone],
    now: Timestamp,
) -> Result<u64, Failure> {
    namespaces::lock(connection, tombstones.iter().map(|tombstone| &tombstone.scope)).await?;
    let mut of: BTreeMap<Uuid, Vec<&Tombstone>> = BTreeMap::new();
    for tombstone in tombstones {
        of.entry(scopes::namespace(&tombstone.scope)).or_default().push(tombstone);
    }
    let mut new = 0;
    for (ns, tombstones) in of {
        let ids: Vec<_> = tombstones.iter().map(|tombstone| tombstone.id).collect();
        let mut there: FxHashMap<RecordId, Scope> = FxHashMap::default();
        for record in row::named(connection, ns, &ids).await? {
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
        scopes::settle(connection, &places).await?;
        let removed = &mut Removed::default();
        for tombstone in &taken {
            derivations::withdraw(connection, ns, &[tombstone.id], &BTreeSet::new(), now, removed).await?;
        }
        new += bury_in(connection, ns, &taken, removed).await?;
    }
    Ok(new)
}

/// Does so in one namespace, whose addresses are known, and counts what it removes; of two tombstones of one id the later one
/// is kept.
pub(crate) async fn bury_in(
    connection: &mut PgConnection,
    ns: Uuid,
    tombstones: &[&Tombstone],
    removed: &mut Removed,
) -> Result<u64, Failure> {
    let last: BTreeMap<Uuid, &Tombstone> =
        tombstones.iter().map(|tombstone| (uuid(tombstone.id), *tombstone)).collect();
    let ids: Vec<Uuid> = last.keys().copied().collect();
    *removed += remove_derived(connection, ns, &ids).await?;
    for kind in row::remove(connection, ns, &ids).await? {
        removed.count(&kind);
    }
    let hashes = |tombstones: &mut dyn Iterator<Item = &Tombstone>| -> Vec<Vec<u8>> {
        tombstones.map(|tombstone| tombstone.content_hash.as_bytes().to_vec()).collect()
    };
    sqlx::query(
        "INSERT INTO barred_contents (ns, content_hash, withdrawn)
         SELECT $1::uuid, x.hash, bool_and(x.withdrawn) FROM unnest($2::bytea[], $3::boolean[]) x (hash, withdrawn)
         GROUP BY x.hash
         ON CONFLICT (ns, content_hash) DO UPDATE SET withdrawn = barred_contents.withdrawn AND excluded.withdrawn",
    )
    .bind(ns)
    .bind(hashes(&mut tombstones.iter().copied()))
    .bind(tombstones.iter().map(|tombstone| tombstone.withdrawn).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let replaced = sqlx::query("DELETE FROM tombstones b WHERE b.ns = $1 AND b.id = ANY ($2)")
        .bind(ns)
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "INSERT INTO tombstones (ns, id, address, content_hash, deleted_at, withdrawn)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::bytea[], $5::bigint[], $6::boolean[]) x",
    )
    .bind(ns)
    .bind(&ids)
    .bind(last.values().map(|tombstone| scopes::address(&tombstone.scope)).collect::<Vec<_>>())
    .bind(hashes(&mut last.values().copied()))
    .bind(last.values().map(|tombstone| tombstone.deleted_at.as_micros()).collect::<Vec<_>>())
    .bind(last.values().map(|tombstone| tombstone.withdrawn).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    let new = ids.len() as u64 - replaced.rows_affected();
    removed.tombstones += new;
    Ok(new)
}

/// A page of tombstones within reach, by id.
pub(crate) async fn tombstones(
    connection: &mut PgConnection,
    reach: &Reach,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, Failure> {
    let mut statement = Statement::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, b.id, b.content_hash, b.deleted_at, b.withdrawn FROM tombstones b
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
            withdrawn: row.try_get(8)?,
        })
    };
    statement.rows(connection).await?.iter().map(read).collect()
}
