//! The rows of the table `keyword_documents`: the terms of the records.

use memory_engine_core::{DamagedRecord, ErrorKind, PackedTerms, RecordId, Scope, Terms, packed_terms};
use memory_engine_keyword_store::KeywordEntry;
use rusqlite::{Connection, Row, Rows, params, types::ValueRef};

use crate::{
    database::{change_log, error::SqliteError},
    rows::{
        addresses::AddressCache,
        row,
        scopes::{self, CoveredScope, RecordAddress},
    },
};

/// Stores the terms of a record that has none. The caller logs the change.
pub(crate) fn insert(
    connection: &Connection,
    row: i64,
    id: RecordId,
    address: RecordAddress,
    terms: &Terms,
) -> Result<(), SqliteError> {
    let (words, counts) = packed_terms::pack_short(terms);
    let length = terms.length();
    connection
        .prepare_cached(
            "INSERT INTO keyword_documents (record, id, scope, length, terms, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![row, id.as_bytes(), address.scope, length, words, counts])?;
    Ok(())
}

/// Removes the terms of a record. Returns true if it had any; then the caller logs the change.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<bool, SqliteError> {
    Ok(connection.prepare_cached("DELETE FROM keyword_documents WHERE record = ?1")?.execute([row])? > 0)
}

/// Stores the terms of the entries. An entry is skipped if its record was deleted, moved or written again since.
pub(crate) fn upsert(connection: &Connection, entries: &[KeywordEntry]) -> Result<(), SqliteError> {
    for KeywordEntry { record, terms } in entries {
        let address = scopes::get_or_create(connection, &record.scope)?;
        let Some(current) = row::current(connection, address.namespace, record.id)? else { continue };
        if current.matches(record, address) {
            remove(connection, current.row)?;
            insert(connection, current.row, record.id, address, terms)?;
            change_log::append(connection, current.row)?;
        }
    }
    change_log::trim(connection)
}

/// Removes the terms of those of these records that the scope covers. Returns the number of records that had any.
pub(crate) fn delete(connection: &Connection, covered: &CoveredScope, ids: &[RecordId]) -> Result<u64, SqliteError> {
    let mut removed = 0;
    for id in ids {
        for row in row::find_rows(connection, covered, *id)? {
            if remove(connection, row)? {
                change_log::append(connection, row)?;
                removed += 1;
            }
        }
    }
    change_log::trim(connection)?;
    Ok(removed)
}

/// Returns the terms of these records, aligned with `ids`; `None` for one that has none or is outside `scope`.
pub(crate) fn terms(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<PackedTerms>>, SqliteError> {
    // The scope comes from `keyword_documents`, so that the row of the record need not be read: its index is enough.
    let sql = "SELECT d.scope, d.terms, d.counts FROM records r CROSS JOIN keyword_documents d ON d.record = r.record
        WHERE r.id = ?1";
    addresses.read_by_ids(connection, scope, sql, ids, |row, id, covered, number| {
        Ok(addresses.user(connection, covered, number)?.and_then(|_| packed_terms(row, 1, id)))
    })
}

/// Reads the columns `terms` and `counts` of a record, which begin at column `first`. Returns `None` if the record has
/// none, or if they cannot be read; then reports it.
pub(crate) fn packed_terms(row: &Row<'_>, first: usize, id: RecordId) -> Option<PackedTerms> {
    if row.get_ref(first).is_ok_and(|terms| terms == ValueRef::Null) {
        return None;
    }
    let packed = row.get(first).ok().zip(row.get(first + 1).ok());
    let terms = packed.and_then(|(terms, counts)| PackedTerms::new(terms, counts).ok());
    if terms.is_none() {
        damage(id).warn();
    }
    terms
}

fn damage(id: RecordId) -> DamagedRecord {
    DamagedRecord::new(id, "keyword_documents", "terms")
}

/// The stored terms of a record.
pub(crate) struct StoredTerms<'r> {
    pub(crate) row: i64,
    pub(crate) id: RecordId,
    pub(crate) scope: i64,
    pub(crate) length: u32,
    pub(crate) terms: &'r str,
    pub(crate) counts: &'r [u8],
}

/// Passes the terms of every record of a user to `visit`.
pub(crate) fn for_each_of_user(
    connection: &Connection,
    namespace: i64,
    visit: impl FnMut(StoredTerms<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM records r INDEXED BY records_by_namespace CROSS JOIN keyword_documents d ON d.record = r.record
        WHERE r.namespace = ?1";
    for_each_row(connection.prepare_cached(sql)?.query([namespace])?, visit)
}

/// Passes the terms of every record of a tenant to `visit`.
pub(crate) fn for_each_of_tenant(
    connection: &Connection,
    tenant: i64,
    visit: impl FnMut(StoredTerms<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM keyword_documents d CROSS JOIN scopes s ON s.scope = d.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace WHERE n.tenant = ?1";
    for_each_row(connection.prepare_cached(sql)?.query([tenant])?, visit)
}

/// Passes the terms of every record of a tenant that has changed after `change`, and still has terms, to `visit`.
pub(crate) fn for_each_changed_of_tenant(
    connection: &Connection,
    tenant: i64,
    change: i64,
    visit: impl FnMut(StoredTerms<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM (SELECT DISTINCT record FROM changes WHERE change > ?2) c
        CROSS JOIN keyword_documents d ON d.record = c.record CROSS JOIN scopes s ON s.scope = d.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace WHERE n.tenant = ?1";
    for_each_row(connection.prepare_cached(sql)?.query([tenant, change])?, visit)
}

/// Passes the terms of every record of a user that has changed after `change`, and still has terms, to `visit`.
pub(crate) fn for_each_changed_of_user(
    connection: &Connection,
    namespace: i64,
    change: i64,
    visit: impl FnMut(StoredTerms<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM (SELECT DISTINCT record FROM changes WHERE change > ?2) c
        CROSS JOIN keyword_documents d ON d.record = c.record CROSS JOIN scopes s ON s.scope = d.scope
        WHERE s.namespace = ?1";
    for_each_row(connection.prepare_cached(sql)?.query([namespace, change])?, visit)
}

/// Leaves out a row that cannot be read, and reports it.
fn for_each_row(
    mut rows: Rows<'_>,
    mut visit: impl FnMut(StoredTerms<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    while let Some(row) = rows.next()? {
        let visited = read(row).and_then(&mut visit);
        match visited {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                damage(row::readable_id(row.get_ref(1)?.as_bytes().unwrap_or_default())).warn();
            }
            visited => visited?,
        }
    }
    Ok(())
}

fn read<'r>(row: &'r Row<'_>) -> Result<StoredTerms<'r>, SqliteError> {
    Ok(StoredTerms {
        row: row.get(0)?,
        id: RecordId::from_bytes(row.get(1)?),
        scope: row.get(2)?,
        length: row.get(3)?,
        terms: row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?,
        counts: row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?,
    })
}

/// Removes the terms of all records, and invalidates loaded indexes.
pub(crate) fn clear(connection: &Connection) -> Result<(), SqliteError> {
    connection.execute("DELETE FROM keyword_documents", [])?;
    change_log::invalidate_all(connection)
}
