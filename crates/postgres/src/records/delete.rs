//! Deleting records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{DeletionReport, RecordId, RemovalCounts, Scope, Timestamp, Tombstone};
use memory_engine_sql::write::{self, RecordChange};
use rustc_hash::FxHashMap;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    records::{
        cascade, change, namespaces, row,
        scopes::{self, CoveredScope},
    },
};

/// Deletes the records of these ids within reach, and the records that were made from them.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<DeletionReport, PostgresError> {
    // Of a tenant with many users only those are locked who have such a record.
    let namespaces = match reach.is_tenant_wide() {
        false => reach.namespaces(connection).await?,
        true => row::find(connection, reach, ids).await?.into_iter().map(|stored| stored.ns).collect(),
    };
    namespaces::lock_known(connection, &namespaces).await?;
    let mut by_namespace: BTreeMap<Uuid, (Vec<RecordChange>, BTreeSet<RecordId>)> = BTreeMap::new();
    for stored in row::find(connection, reach, ids).await? {
        let (changes, own) = by_namespace.entry(stored.ns).or_default();
        own.insert(stored.record.id);
        changes.push(RecordChange::Remove(write::tombstone(&stored.record, deleted_at, false)));
    }
    let (mut named, mut cascaded, kept) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut removed = RemovalCounts::default();
    for (ns, (changes, own)) in by_namespace {
        removed += change::apply(connection, &changes, None, deleted_at).await?;
        let made = cascade::remove_derived_records(connection, ns, &own, &kept, deleted_at).await?;
        cascaded.extend(made.0);
        removed += made.1;
        named.extend(own);
    }
    Ok(write::deleted(ids, named, cascaded, removed))
}

/// Applies tombstones of another store: removes the records that they name. Returns the number of new tombstones.
pub(crate) async fn import_tombstones(
    connection: &mut PgConnection,
    tombstones: &[Tombstone],
    now: Timestamp,
) -> Result<u64, PostgresError> {
    namespaces::lock(connection, tombstones.iter().map(|tombstone| &tombstone.scope)).await?;
    let mut by_namespace: BTreeMap<Uuid, Vec<&Tombstone>> = BTreeMap::new();
    for tombstone in tombstones {
        by_namespace.entry(scopes::namespace(&tombstone.scope)).or_default().push(tombstone);
    }
    let (mut new, kept) = (0, BTreeSet::new());
    for (ns, tombstones) in by_namespace {
        let applicable = applicable(connection, ns, tombstones).await?;
        let mut places: Vec<_> = applicable.iter().map(|tombstone| &tombstone.scope).collect();
        places.sort();
        places.dedup();
        scopes::settle(connection, &places).await?;
        for tombstone in &applicable {
            let source = BTreeSet::from([tombstone.id]);
            cascade::remove_derived_records(connection, ns, &source, &kept, now).await?;
        }
        let changes: Vec<_> = applicable.into_iter().cloned().map(RecordChange::Remove).collect();
        new += change::apply(connection, &changes, None, now).await?.tombstones;
    }
    Ok(new)
}

/// The tombstones that do not name a record at another address.
async fn applicable<'t>(
    connection: &mut PgConnection,
    ns: Uuid,
    tombstones: Vec<&'t Tombstone>,
) -> Result<Vec<&'t Tombstone>, PostgresError> {
    let ids: Vec<_> = tombstones.iter().map(|tombstone| tombstone.id).collect();
    let mut stored: FxHashMap<RecordId, Scope> = FxHashMap::default();
    for record in row::named(connection, ns, &ids).await? {
        stored.insert(record.id, record.scope);
    }
    let mut applicable = Vec::new();
    for tombstone in tombstones {
        if stored.get(&tombstone.id).is_none_or(|scope| *scope == tombstone.scope) {
            stored.remove(&tombstone.id);
            applicable.push(tombstone);
        }
    }
    Ok(applicable)
}
