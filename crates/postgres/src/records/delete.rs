//! Deletes records, and applies tombstones of other stores.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{DeletionReport, RecordId, RemovalCounts, Timestamp, Tombstone};
use memory_engine_sql::write;
use rustc_hash::FxHashMap;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    records::{cascade, change},
    rows::{
        namespaces,
        scopes::{self, CoveredScope},
        stub::{self, NewTombstone},
    },
};

/// Deletes the records with these ids in a scope, and the records that were derived from them.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<DeletionReport, PostgresError> {
    // Of a tenant with many users, only the namespaces with such a record are locked.
    let namespaces = if covered.is_tenant_wide() {
        stub::find(connection, covered, ids).await?.into_iter().map(|stored| stored.namespace).collect()
    } else {
        covered.namespaces(connection).await?
    };
    namespaces::lock_known(connection, &namespaces).await?;
    let mut by_namespace: BTreeMap<Uuid, (Vec<NewTombstone>, BTreeSet<RecordId>)> = BTreeMap::new();
    for stored in stub::find(connection, covered, ids).await? {
        let (tombstones, ids) = by_namespace.entry(stored.namespace).or_default();
        ids.insert(stored.stub.id);
        tombstones.push(NewTombstone::of(&stored, deleted_at, false));
    }
    let mut deleted = BTreeSet::new();
    let mut cascade_deleted = BTreeSet::new();
    let kept = BTreeSet::new();
    let mut removed = RemovalCounts::default();
    for (namespace, (tombstones, sources)) in by_namespace {
        removed += change::apply_tombstones(connection, namespace, &tombstones).await?;
        let (derived, removed_with_derived) =
            cascade::remove_derived_records(connection, namespace, &sources, &kept, deleted_at).await?;
        cascade_deleted.extend(derived);
        removed += removed_with_derived;
        deleted.extend(sources);
    }
    Ok(write::deletion_report(ids, deleted, cascade_deleted, removed))
}

/// Deletes the records of the covered users that no scan finds.
pub(crate) async fn delete_unreachable(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    deleted_at: Timestamp,
) -> Result<DeletionReport, PostgresError> {
    let namespaces = covered.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    let mut by_namespace: BTreeMap<Uuid, Vec<NewTombstone>> = BTreeMap::new();
    let mut report = DeletionReport::default();
    for stored in stub::find_unreachable(connection, covered).await? {
        report.ids.push(stored.stub.id);
        by_namespace.entry(stored.namespace).or_default().push(NewTombstone::of(&stored, deleted_at, false));
    }
    for (namespace, tombstones) in by_namespace {
        report.removed += change::apply_tombstones(connection, namespace, &tombstones).await?;
    }
    Ok(report)
}

/// Applies tombstones of another store: removes their records. Returns the number of new tombstones.
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
    let mut new_tombstones = 0;
    let kept = BTreeSet::new();
    for (namespace, tombstones) in by_namespace {
        let applicable = applicable(connection, namespace, tombstones).await?;
        let mut addresses: Vec<_> = applicable.iter().map(|tombstone| &tombstone.scope).collect();
        addresses.sort();
        addresses.dedup();
        scopes::insert_addresses(connection, &addresses).await?;
        for tombstone in &applicable {
            let source = BTreeSet::from([tombstone.id]);
            cascade::remove_derived_records(connection, namespace, &source, &kept, now).await?;
        }
        let tombstones: Vec<_> = applicable.into_iter().map(NewTombstone::from).collect();
        new_tombstones += change::apply_tombstones(connection, namespace, &tombstones).await?.tombstones;
    }
    Ok(new_tombstones)
}

/// Returns the tombstones whose id does not belong to a record at another address.
async fn applicable<'t>(
    connection: &mut PgConnection,
    namespace: Uuid,
    tombstones: Vec<&'t Tombstone>,
) -> Result<Vec<&'t Tombstone>, PostgresError> {
    let ids: Vec<_> = tombstones.iter().map(|tombstone| tombstone.id).collect();
    let mut stored: FxHashMap<RecordId, Option<Uuid>> = FxHashMap::default();
    for record in stub::find(connection, &CoveredScope::of_namespace(namespace), &ids).await? {
        stored.insert(record.stub.id, record.address);
    }
    let mut applicable = Vec::new();
    for tombstone in tombstones {
        let address = stored.get(&tombstone.id).copied().flatten();
        if address.is_none_or(|address| address == scopes::address(&tombstone.scope)) {
            stored.remove(&tombstone.id);
            applicable.push(tombstone);
        }
    }
    Ok(applicable)
}
