//! Deleting records, and what is left of them.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{ContentHash, Deleted, RecordId, Removed, Timestamp, Tombstone};
use rusqlite::{Connection, params};

use crate::{
    cache::change_log,
    database::failure::Failure,
    database::statement::Statement,
    records::derivations,
    records::put::remove_derived,
    records::row,
    records::scopes::{self, Reach},
};

/// Deletes the records of these ids within reach, with what was made from them.
pub(crate) fn delete(
    connection: &Connection,
    reach: &Reach,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<Deleted, Failure> {
    let (mut named, mut seen, mut removed) = (Vec::new(), BTreeSet::new(), Removed::default());
    let mut of: BTreeMap<i64, BTreeSet<RecordId>> = BTreeMap::new();
    // First all that are named, and then what was made from any of them: one may have been made from another.
    for id in ids {
        for stored in row::all(connection, reach, *id)? {
            let content_hash = stored.record.content_hash();
            let tombstone =
                Tombstone { id: *id, scope: stored.record.scope, content_hash, deleted_at, withdrawn: false };
            entomb(connection, &tombstone, &mut removed)?;
            of.entry(stored.place.namespace).or_default().insert(*id);
            if seen.insert(*id) {
                named.push(*id);
            }
        }
    }
    let mut withdrawn = BTreeSet::new();
    for (namespace, ids) in of {
        let kept = BTreeSet::new();
        withdrawn.extend(derivations::withdraw(connection, namespace, &ids, &kept, deleted_at, &mut removed)?);
    }
    withdrawn.retain(|id| !seen.contains(id));
    removed.withdrawn = withdrawn.len() as u64;
    change_log::trim(connection)?;
    let mut ids = named;
    ids.extend(withdrawn);
    Ok(Deleted { ids, removed })
}

/// Removes what the tombstones name, keeps them, and counts the new ones.
pub(crate) fn bury(connection: &Connection, tombstones: &[Tombstone], now: Timestamp) -> Result<u64, Failure> {
    let mut new = 0;
    for tombstone in tombstones {
        let place = scopes::settle(connection, &tombstone.scope)?;
        let old = row::named(connection, place.namespace, tombstone.id)?;
        if old.is_some_and(|old| old.record.scope != tombstone.scope) {
            continue; // it speaks of another record
        }
        let (ids, removed) = (BTreeSet::from([tombstone.id]), &mut Removed::default());
        derivations::withdraw(connection, place.namespace, &ids, &BTreeSet::new(), now, removed)?;
        new += u64::from(entomb(connection, tombstone, removed)?);
    }
    change_log::trim(connection)?;
    Ok(new)
}

/// Removes what a tombstone names, which is counted, and keeps the tombstone; whether it is new.
pub(crate) fn entomb(connection: &Connection, tombstone: &Tombstone, removed: &mut Removed) -> Result<bool, Failure> {
    let place = scopes::settle(connection, &tombstone.scope)?;
    if let Some(old) = row::named(connection, place.namespace, tombstone.id)? {
        *removed += remove_derived(connection, old.row)?;
        removed.count(old.record.kind.as_str());
        derivations::forget(connection, place.namespace, old.row, &old.record)?;
        row::remove(connection, old.row)?;
    }
    let (id, hash) = (tombstone.id.as_bytes(), tombstone.content_hash.as_bytes());
    connection
        .prepare_cached(
            "INSERT INTO barred_contents (namespace, content_hash, withdrawn) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET withdrawn = min(withdrawn, excluded.withdrawn)",
        )?
        .execute(params![place.namespace, hash, tombstone.withdrawn])?;
    let replaced = connection
        .prepare_cached("DELETE FROM tombstones WHERE namespace = ?1 AND id = ?2")?
        .execute(params![place.namespace, id])?;
    connection
        .prepare_cached(
            "INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at, withdrawn)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            place.namespace,
            id,
            place.scope,
            hash,
            tombstone.deleted_at.as_micros(),
            tombstone.withdrawn
        ])?;
    removed.tombstones += u64::from(replaced == 0);
    Ok(replaced == 0)
}

/// A page of tombstones within reach, by id.
pub(crate) fn tombstones(
    connection: &Connection,
    reach: &Reach,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, Failure> {
    let mut statement = Statement::new(
        "SELECT t.name, n.user, s.agent, s.session, s.branch, b.id, b.content_hash, b.deleted_at, b.withdrawn FROM tombstones b
         CROSS JOIN scopes s ON s.scope = b.scope CROSS JOIN namespaces n ON n.namespace = b.namespace
         CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ",
    );
    reach.namespaces("b.namespace", &mut statement);
    reach.scopes(statement.push(" AND "));
    if let Some(after) = after {
        statement.push(" AND b.id > ").bind(after.as_bytes().to_vec());
    }
    statement.push(if reach.namespace.is_some() { " ORDER BY b.id" } else { " ORDER BY b.id, n.user" });
    statement.push(" LIMIT ").bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Tombstone {
            scope: scopes::read(row)?,
            id: RecordId::from_bytes(row.get(5)?),
            content_hash: ContentHash::from_bytes(row.get(6)?),
            deleted_at: Timestamp::from_micros(row.get(7)?),
            withdrawn: row.get(8)?,
        });
    }
    Ok(found)
}
