//! The terms of the records.

use std::collections::BTreeMap;

use memory_engine_core::{Record, RecordId, Scope, Terms};
use memory_engine_keyword_store::{
    KeywordEntry,
    packed::{self, PackedTerms},
};
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::statement::Statement,
    keywords::lexeme::Owner,
    records::namespaces,
    records::row,
    records::scopes::{self, CoveredScope, record_id, uuid, uuids},
};

/// The terms of a record as they are kept.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) ns: Uuid,
    pub(crate) id: Uuid,
    pub(crate) address: Uuid,
    pub(crate) length: i64,
    pub(crate) terms: Vec<u8>,
    pub(crate) counts: Vec<u8>,
    pub(crate) lexemes: String,
}

impl Document {
    /// Those of a record.
    pub(crate) fn of(record: &Record, terms: &Terms) -> Self {
        let (words, counts) = packed::pack(terms);
        Self {
            ns: scopes::namespace(&record.scope),
            id: uuid(record.id),
            address: scopes::address(&record.scope),
            length: terms.length().into(),
            terms: words.into_bytes(),
            counts,
            lexemes: Owner::of_address(&record.scope).vector(terms),
        }
    }
}

/// Keeps the terms of records that have none, of however many namespaces.
pub(crate) async fn insert(connection: &mut PgConnection, documents: &[Document]) -> Result<(), PostgresError> {
    if documents.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO keyword_documents (ns, id, address, length, terms, counts, lexemes)
         SELECT x.ns, x.id, x.address, x.length, x.terms, x.counts, x.lexemes::tsvector
         FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[])
              x (ns, id, address, length, terms, counts, lexemes)",
    )
    .bind(documents.iter().map(|document| document.ns).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.id).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.address).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.length).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.terms[..]).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.counts[..]).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.lexemes[..]).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let mut counts: BTreeMap<(Uuid, Uuid), i64> = BTreeMap::new();
    for document in documents {
        *counts.entry((document.ns, document.address)).or_default() += 1;
    }
    sqlx::query(
        "UPDATE addresses a SET documents = a.documents + x.documents
         FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) x (ns, address, documents)
         WHERE a.ns = x.ns AND a.address = x.address",
    )
    .bind(counts.keys().map(|(ns, _)| *ns).collect::<Vec<_>>())
    .bind(counts.keys().map(|(_, address)| *address).collect::<Vec<_>>())
    .bind(counts.values().copied().collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the terms of these records, and counts those that had any.
pub(crate) async fn remove(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let gone: i64 = sqlx::query_scalar(
        "WITH gone AS (
            DELETE FROM keyword_documents d WHERE d.ns = $1 AND d.id = ANY ($2) RETURNING d.address
         ), counts AS (
            SELECT address, count(*) AS documents FROM gone GROUP BY address
         ), kept AS (
            UPDATE addresses a SET documents = a.documents - s.documents FROM counts s
            WHERE a.ns = $1 AND a.address = s.address
         )
         SELECT count(*) FROM gone",
    )
    .bind(ns)
    .bind(ids)
    .fetch_one(connection)
    .await?;
    Ok(u64::try_from(gone).unwrap_or_default())
}

/// Keeps the terms of the records that are still as the entries have them.
pub(crate) async fn upsert(connection: &mut PgConnection, entries: &[KeywordEntry]) -> Result<(), PostgresError> {
    let mut of: BTreeMap<Uuid, BTreeMap<RecordId, &KeywordEntry>> = BTreeMap::new();
    for entry in entries {
        of.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, entries) in of {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current(connection, ns, &ids).await?;
        let fresh = current.iter().filter_map(|now| entries.get(&now.id).filter(|entry| now.is(&entry.record)));
        let documents: Vec<_> = fresh.map(|entry| Document::of(&entry.record, &entry.terms)).collect();
        let ids: Vec<Uuid> = documents.iter().map(|document| document.id).collect();
        remove(connection, ns, &ids).await?;
        insert(connection, &documents).await?;
    }
    Ok(())
}

/// Removes the terms of these records within reach, and counts those that had any.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<u64, PostgresError> {
    let mut gone = 0;
    for (ns, ids) in row::keys(connection, reach, ids).await? {
        namespaces::lock_known(connection, &[ns]).await?;
        gone += remove(connection, ns, &ids).await?;
    }
    Ok(gone)
}

/// Returns the terms of these records, aligned with `ids`; `None` for one that has none or is outside `scope`.
pub(crate) async fn terms(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<PackedTerms>>, PostgresError> {
    let mut statement = Statement::new(
        "SELECT d.id, d.terms, d.counts FROM keyword_documents d JOIN namespaces n ON n.ns = d.ns WHERE d.id = ANY (",
    );
    statement.bind(uuids(ids)).push(") AND ");
    CoveredScope::of(scope).holds("d", &mut statement);
    // If several users of a tenant have a record of one id, the first by user counts, as everywhere.
    statement.push(" ORDER BY n.username");
    let mut found: FxHashMap<RecordId, PackedTerms> = FxHashMap::default();
    for row in statement.rows(connection).await? {
        let words =
            String::from_utf8(row.try_get("terms")?).map_err(|_| PostgresError::corrupt("the terms of a record"))?;
        let terms = PackedTerms::new(words, row.try_get("counts")?)?;
        found.entry(record_id(row.try_get("id")?)).or_insert(terms);
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Removes all terms of all records: a statement for all tenants, run when an index is rebuilt.
pub(crate) async fn clear(connection: &mut PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("TRUNCATE keyword_documents; UPDATE addresses SET documents = 0").execute(connection).await?;
    Ok(())
}
