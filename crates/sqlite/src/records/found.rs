//! Reads records together with their terms: those that a search found, and those with given ids.

use memory_engine_core::{DamagedRecord, FoundRecord, Hit, RecordId, RecordWithTerms, Scope};
use rusqlite::{Connection, Row};

use crate::{
    database::error::SqliteError,
    keywords::keyword_rows,
    rows::{
        addresses::AddressCache,
        row::{self, columns},
    },
};

/// A hit with the number of the row of its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRow {
    pub(crate) row: i64,
    pub(crate) hit: Hit,
}

/// Selects records `r` with their terms, for [`read_row`].
macro_rules! select_with_terms {
    ($condition:literal) => {
        concat!(
            "SELECT r.scope, d.terms, d.counts, ",
            columns!(),
            " FROM records r LEFT JOIN keyword_documents d ON d.record = r.record WHERE ",
            $condition
        )
    };
}

/// Reads a row of [`select_with_terms!`]. Returns `None` for a record that cannot be read, and reports it. Terms that
/// cannot be read are left out.
fn read_row(row: &Row<'_>, scope: Scope) -> Option<RecordWithTerms> {
    let record = row::content(row, 3, scope).inspect_err(DamagedRecord::warn).ok()?;
    let terms = keyword_rows::packed_terms(row, 1, record.id);
    Some(RecordWithTerms { record, terms })
}

/// Converts the hits of a search within a scope to its result, in the transaction of the search.
pub(crate) type HitReader<T> = fn(&Connection, &AddressCache, &Scope, &[FoundRow]) -> Result<Vec<T>, SqliteError>;

/// Returns the hits alone. Reads nothing.
pub(crate) fn keep_hits(
    _: &Connection,
    _: &AddressCache,
    _: &Scope,
    found: &[FoundRow],
) -> Result<Vec<Hit>, SqliteError> {
    Ok(found.iter().map(|found| found.hit).collect())
}

/// Reads the records and terms of hits within `scope`, in the same order. A hit whose record does not exist in this
/// transaction is left out: another search may have read later changes into the index.
pub(crate) fn read_records(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    found_rows: &[FoundRow],
) -> Result<Vec<FoundRecord>, SqliteError> {
    let Some(covered) = addresses.covered_scope(connection, scope)? else { return Ok(Vec::new()) };
    let mut prepared = connection.prepare_cached(select_with_terms!("r.record = ?1"))?;
    let mut found = Vec::with_capacity(found_rows.len());
    for FoundRow { row: row_number, hit } in found_rows {
        let mut rows = prepared.query([row_number])?;
        let Some(row) = rows.next()? else { continue };
        let Some(record_scope) = addresses.scope(connection, &covered, row.get(0)?)? else { continue };
        let Some(record) = read_row(row, record_scope) else { continue };
        // A row number can be used again after its record was deleted.
        if record.record.id == hit.id {
            found.push(FoundRecord { hit: *hit, record });
        }
    }
    Ok(found)
}

/// Returns the records of these ids within `scope` with their terms, aligned with the ids.
pub(crate) fn read_by_ids(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<RecordWithTerms>>, SqliteError> {
    addresses.read_by_ids(connection, scope, select_with_terms!("r.id = ?1"), ids, |row, _, covered, number| {
        Ok(addresses.scope(connection, covered, number)?.and_then(|scope| read_row(row, scope)))
    })
}
