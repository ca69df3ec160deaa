//! Deleting records, and what is left of them.

use memory_core::{ContentHash, RecordId, Timestamp, Tombstone};
use rusqlite::{Connection, params};

use crate::{
    changes,
    failure::Failure,
    put::remove_derived,
    records,
    scopes::{self, Reach},
    statement::Statement,
};

/// Deletes the records of these ids within reach, and gives those that were there.
pub(crate) fn delete(
    connection: &Connection,
    reach: &Reach,
    ids: &[RecordId],
    deleted_at: Timestamp,
) -> Result<Vec<RecordId>, Failure> {
    let mut gone = Vec::new();
    for id in ids {
        let found = records::all(connection, reach, *id)?;
        if found.is_empty() {
            continue;
        }
        for stored in found {
            let content_hash = stored.record.content_hash();
            bury_one(connection, &Tombstone { id: *id, scope: stored.record.scope, content_hash, deleted_at })?;
        }
        gone.push(*id);
    }
    changes::forget_old(connection)?;
    Ok(gone)
}

/// Removes what the tombstones name, keeps them, and counts the new ones.
pub(crate) fn bury(connection: &Connection, tombstones: &[Tombstone]) -> Result<u64, Failure> {
    let mut new = 0;
    for tombstone in tombstones {
        new += u64::from(bury_one(connection, tombstone)?);
    }
    changes::forget_old(connection)?;
    Ok(new)
}

fn bury_one(connection: &Connection, tombstone: &Tombstone) -> Result<bool, Failure> {
    let place = scopes::settle(connection, &tombstone.scope)?;
    if let Some(old) = records::named(connection, place.namespace, tombstone.id)? {
        if old.record.scope != tombstone.scope {
            return Ok(false); // it speaks of another record
        }
        remove_derived(connection, old.row, old.place, &old.record.scope)?;
        records::remove(connection, old.row)?;
    }
    let (id, hash) = (tombstone.id.as_bytes(), tombstone.content_hash.as_bytes());
    connection
        .prepare_cached("INSERT OR IGNORE INTO barred_contents (namespace, content_hash) VALUES (?1, ?2)")?
        .execute(params![place.namespace, hash])?;
    let replaced = connection
        .prepare_cached("DELETE FROM tombstones WHERE namespace = ?1 AND id = ?2")?
        .execute(params![place.namespace, id])?;
    connection
        .prepare_cached(
            "INSERT INTO tombstones (namespace, id, scope, content_hash, deleted_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![place.namespace, id, place.scope, hash, tombstone.deleted_at.as_micros()])?;
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
        "SELECT t.name, n.user, s.agent, s.session, s.branch, b.id, b.content_hash, b.deleted_at FROM tombstones b
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
        });
    }
    Ok(found)
}
