//! The terms of the records, and the tokens that find them.
//!
//! FTS5 finds candidates; `keyword_documents` says what they hold. A token of FTS5 is made of the hash of a term (or of
//! a session's name) and of the numbers of tenant and user. Three things follow. A search walks the postings of the one
//! user it is for, and never those of others. No text of a user can be query syntax or be cut up by a tokenizer. And a
//! term that was deleted cannot stay behind in the separators of FTS5's index, which its `secure-delete` leaves alone.
//! Two terms that share a token cost one look at a document that holds neither.

use std::fmt::Write;

use memory_core::{RecordId, Scope, Terms};
use memory_keyword_store::{KeywordEntry, packed};
use rusqlite::{Connection, OptionalExtension, Rows, params};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    changes,
    failure::Failure,
    records,
    scopes::{self, Place, Reach},
};

/// Whose a token is: the end of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    tenant: i64,
    namespace: Option<i64>,
}

impl Owner {
    /// Whoever the scope reaches.
    pub(crate) fn of(reach: &Reach) -> Self {
        Self { tenant: reach.tenant, namespace: reach.namespace }
    }

    /// Whether a token for it is the beginning of several.
    pub(crate) fn is_open(self) -> bool {
        self.namespace.is_none()
    }

    /// Appends the token of a term.
    pub(crate) fn term(self, term: &str, tokens: &mut String) {
        self.finish(tokens, format_args!("{:010x}", xxh3_64(term.as_bytes()) >> 24));
    }

    /// Appends the token of a name in a dimension below the user. No term's token begins like it: `x` is no digit.
    pub(crate) fn dimension(self, dimension: &str, name: &str, tokens: &mut String) {
        self.finish(tokens, format_args!("x{dimension}{:016x}", xxh3_64(name.as_bytes())));
    }

    fn finish(self, tokens: &mut String, what: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = match self.namespace {
            Some(namespace) => write!(tokens, "{what}t{}n{namespace}", self.tenant),
            None => write!(tokens, "{what}t{}n", self.tenant),
        };
    }
}

fn tokens<'t>(place: Place, scope: &Scope, terms: impl Iterator<Item = &'t str>) -> String {
    let owner = Owner { tenant: place.tenant, namespace: Some(place.namespace) };
    let mut tokens = String::new();
    for term in terms {
        owner.term(term, &mut tokens);
        tokens.push(' ');
    }
    for (dimension, name) in scope.dimensions().into_iter().skip(1) {
        if let Some(name) = name {
            owner.dimension(dimension, name, &mut tokens);
            tokens.push(' ');
        }
    }
    tokens
}

/// Keeps the terms of a record that has none.
pub(crate) fn insert(
    connection: &Connection,
    row: i64,
    id: RecordId,
    place: Place,
    scope: &Scope,
    terms: &Terms,
) -> Result<(), Failure> {
    let (words, counts) = packed::pack(terms);
    let length = terms.length();
    connection
        .prepare_cached(
            "INSERT INTO keyword_documents (record, id, scope, length, terms, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![row, id.as_bytes(), place.scope, length, words, counts])?;
    connection
        .prepare_cached("INSERT INTO keyword_tokens (rowid, tokens) VALUES (?1, ?2)")?
        .execute(params![row, tokens(place, scope, packed::words(&words))])?;
    count(connection, place, 1)?;
    changes::note(connection, row)
}

/// Removes the terms of a record; whether it had any.
pub(crate) fn remove(connection: &Connection, row: i64, place: Place, scope: &Scope) -> Result<bool, Failure> {
    let found = connection
        .prepare_cached("SELECT terms FROM keyword_documents WHERE record = ?1")?
        .query_row([row], |found| found.get::<_, String>(0))
        .optional()?;
    let Some(words) = found else { return Ok(false) };
    // FTS5 keeps no copy of the tokens and has to be told them again.
    connection
        .prepare_cached("INSERT INTO keyword_tokens (keyword_tokens, rowid, tokens) VALUES ('delete', ?1, ?2)")?
        .execute(params![row, tokens(place, scope, packed::words(&words))])?;
    connection.prepare_cached("DELETE FROM keyword_documents WHERE record = ?1")?.execute([row])?;
    count(connection, place, -1)?;
    changes::note(connection, row)?;
    Ok(true)
}

fn count(connection: &Connection, place: Place, documents: i64) -> Result<(), Failure> {
    connection
        .prepare_cached("UPDATE scopes SET documents = documents + ?2 WHERE scope = ?1")?
        .execute(params![place.scope, documents])?;
    Ok(())
}

/// Keeps the terms of the records that are still as the entries have them.
pub(crate) fn upsert(connection: &Connection, entries: &[KeywordEntry]) -> Result<(), Failure> {
    for KeywordEntry { record, terms } in entries {
        let place = scopes::settle(connection, &record.scope)?;
        let Some(current) = records::current(connection, place.namespace, record.id)? else { continue };
        if current.is(record, place) {
            remove(connection, current.row, place, &record.scope)?;
            insert(connection, current.row, record.id, place, &record.scope, terms)?;
        }
    }
    changes::forget_old(connection)
}

/// Removes the terms of these records within reach, and counts those that had any.
pub(crate) fn delete(connection: &Connection, reach: &Reach, ids: &[RecordId]) -> Result<u64, Failure> {
    let mut gone = 0;
    for id in ids {
        for stored in records::all(connection, reach, *id)? {
            gone += u64::from(remove(connection, stored.row, stored.place, &stored.record.scope)?);
        }
    }
    changes::forget_old(connection)?;
    Ok(gone)
}

/// The terms of a record, as they are stored.
pub(crate) struct StoredTerms<'r> {
    pub(crate) row: i64,
    pub(crate) id: RecordId,
    pub(crate) scope: i64,
    pub(crate) length: u32,
    pub(crate) terms: &'r str,
    pub(crate) counts: &'r [u8],
}

/// Gives the terms of every record of a namespace.
pub(crate) fn all(
    connection: &Connection,
    namespace: i64,
    take: impl FnMut(StoredTerms<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM records r INDEXED BY records_by_namespace CROSS JOIN keyword_documents d ON d.record = r.record
        WHERE r.namespace = ?1";
    each(connection.prepare_cached(sql)?.query([namespace])?, take)
}

/// Gives the terms of every record of a tenant.
pub(crate) fn all_of_tenant(
    connection: &Connection,
    tenant: i64,
    take: impl FnMut(StoredTerms<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM keyword_documents d CROSS JOIN scopes s ON s.scope = d.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace WHERE n.tenant = ?1";
    each(connection.prepare_cached(sql)?.query([tenant])?, take)
}

/// Gives the terms of the tenant's records that have changed after `change` and still have any.
pub(crate) fn since_of_tenant(
    connection: &Connection,
    tenant: i64,
    change: i64,
    take: impl FnMut(StoredTerms<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM (SELECT DISTINCT record FROM changes WHERE change > ?2) c
        CROSS JOIN keyword_documents d ON d.record = c.record CROSS JOIN scopes s ON s.scope = d.scope
        CROSS JOIN namespaces n ON n.namespace = s.namespace WHERE n.tenant = ?1";
    each(connection.prepare_cached(sql)?.query([tenant, change])?, take)
}

/// Gives the terms of the namespace's records that have changed after `change` and still have any.
pub(crate) fn since(
    connection: &Connection,
    namespace: i64,
    change: i64,
    take: impl FnMut(StoredTerms<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = "SELECT d.record, d.id, d.scope, d.length, d.terms, d.counts
        FROM (SELECT DISTINCT record FROM changes WHERE change > ?2) c
        CROSS JOIN keyword_documents d ON d.record = c.record CROSS JOIN scopes s ON s.scope = d.scope
        WHERE s.namespace = ?1";
    each(connection.prepare_cached(sql)?.query([namespace, change])?, take)
}

fn each(mut rows: Rows<'_>, mut take: impl FnMut(StoredTerms<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
    while let Some(row) = rows.next()? {
        take(StoredTerms {
            row: row.get(0)?,
            id: RecordId::from_bytes(row.get(1)?),
            scope: row.get(2)?,
            length: row.get(3)?,
            terms: row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?,
            counts: row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?,
        })?;
    }
    Ok(())
}

/// Removes all terms of all records.
pub(crate) fn clear(connection: &Connection) -> Result<(), Failure> {
    connection.execute_batch(
        "INSERT INTO keyword_tokens (keyword_tokens) VALUES ('delete-all');
         DELETE FROM keyword_documents;
         UPDATE scopes SET documents = 0;",
    )?;
    changes::note_all(connection)
}
