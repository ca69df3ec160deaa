//! Reads the records that a search found.

use memory_engine_core::{FoundRecord, Hit, PackedTerms, Scope};
use rusqlite::Connection;

use crate::{
    cache::addresses::AddressCache,
    database::error::SqliteError,
    records::row::{self, columns},
};

/// A hit with the number of the row of its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRow {
    pub(crate) row: i64,
    pub(crate) hit: Hit,
}

/// Reads something of each hit of a search within a scope, in the transaction of the search.
pub(crate) type ReadFound<T> = fn(&Connection, &AddressCache, &Scope, &[FoundRow]) -> Result<Vec<T>, SqliteError>;

/// Returns the hits alone. Reads nothing.
pub(crate) fn hits(_: &Connection, _: &AddressCache, _: &Scope, found: &[FoundRow]) -> Result<Vec<Hit>, SqliteError> {
    Ok(found.iter().map(|found| found.hit).collect())
}

/// Reads the records and terms of hits within `scope`, in the same order. A hit whose record does not exist in this
/// transaction is left out: another search may have read later changes into the index.
pub(crate) fn records(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    found_rows: &[FoundRow],
) -> Result<Vec<FoundRecord>, SqliteError> {
    let Some(covered) = addresses.covered_scope(connection, scope)? else { return Ok(Vec::new()) };
    let sql = concat!(
        "SELECT r.scope, d.terms, d.counts, ",
        columns!(),
        " FROM records r LEFT JOIN keyword_documents d ON d.record = r.record WHERE r.record = ?1"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let mut found = Vec::with_capacity(found_rows.len());
    for FoundRow { row: number, hit } in found_rows {
        let mut rows = prepared.query([number])?;
        let Some(row) = rows.next()? else { continue };
        let Some(address) = addresses.scope(connection, &covered, row.get(0)?)? else { continue };
        let words: Option<String> = row.get(1)?;
        let terms = words.map(|words| Ok::<_, SqliteError>(PackedTerms::new(words, row.get(2)?)?)).transpose()?;
        let record = row::content(row, 3, address)?;
        // A row number can be used again after its record was deleted.
        if record.id == hit.id {
            found.push(FoundRecord { hit: *hit, record, terms });
        }
    }
    Ok(found)
}
