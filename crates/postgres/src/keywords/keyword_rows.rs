//! Stores and removes the terms of records.

use std::collections::BTreeMap;

use memory_engine_core::{
    DamagedRecord, FoundRecord, Hit, PackedTerms, Record, RecordId, RecordWithTerms, Scope, Terms, packed_terms,
};
use memory_engine_keyword_store::KeywordEntry;
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    keywords::lexeme::LexemeOwner,
    rows::{
        namespaces, row,
        scopes::{self, CoveredScope, record_id, uuid, uuids},
    },
};

/// A row of `keyword_documents`: the terms of a record.
#[derive(Debug)]
pub(crate) struct KeywordDocument {
    pub(crate) namespace: Uuid,
    pub(crate) id: Uuid,
    pub(crate) address: Uuid,
    pub(crate) length: i64,
    pub(crate) terms: Vec<u8>,
    pub(crate) counts: Vec<u8>,
    pub(crate) lexemes: String,
    pub(crate) repeated_terms: Option<String>,
}

impl KeywordDocument {
    /// Packs the terms of a record.
    pub(crate) fn of(record: &Record, terms: &Terms) -> Self {
        let (packed, counts) = packed_terms::pack(terms);
        Self {
            namespace: scopes::namespace(&record.scope),
            id: uuid(record.id),
            address: scopes::address(&record.scope),
            length: terms.length().into(),
            terms: packed.into_bytes(),
            counts,
            lexemes: LexemeOwner::of_address(&record.scope).vector(terms),
            repeated_terms: repeated_terms(terms.iter()),
        }
    }
}

/// Returns the terms with more than one occurrence, as a JSON object; `None` if there are none, or if JSON cannot
/// contain them.
pub(crate) fn repeated_terms<'t>(terms: impl Iterator<Item = (&'t str, u32)>) -> Option<String> {
    let mut repeated: BTreeMap<&str, u32> = BTreeMap::new();
    for (term, count) in terms {
        if term.contains('\0') {
            return None;
        }
        if count > 1 {
            repeated.insert(term, count);
        }
    }
    if repeated.is_empty() { None } else { serde_json::to_string(&repeated).ok() }
}

/// Inserts the terms of records that have none, of any number of namespaces.
pub(crate) async fn insert(connection: &mut PgConnection, documents: &[KeywordDocument]) -> Result<(), PostgresError> {
    if documents.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO keyword_documents (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)
         SELECT x.namespace, x.id, x.scope, x.length, x.terms, x.counts, x.lexemes::tsvector, x.repeated_terms::jsonb
         FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[], $8::text[])
              x (namespace, id, scope, length, terms, counts, lexemes, repeated_terms)",
    )
    .bind(documents.iter().map(|document| document.namespace).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.id).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.address).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.length).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.terms[..]).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.counts[..]).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| &document.lexemes[..]).collect::<Vec<_>>())
    .bind(documents.iter().map(|document| document.repeated_terms.as_deref()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let mut counts: BTreeMap<(Uuid, Uuid), i64> = BTreeMap::new();
    for document in documents {
        *counts.entry((document.namespace, document.address)).or_default() += 1;
    }
    sqlx::query(
        "UPDATE scopes a SET documents = a.documents + x.documents
         FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) x (namespace, scope, documents)
         WHERE a.namespace = x.namespace AND a.scope = x.scope",
    )
    .bind(counts.keys().map(|(namespace, _)| *namespace).collect::<Vec<_>>())
    .bind(counts.keys().map(|(_, address)| *address).collect::<Vec<_>>())
    .bind(counts.values().copied().collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the terms of these records. Returns the number of records that had terms.
pub(crate) async fn remove(connection: &mut PgConnection, namespace: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let removed: i64 = sqlx::query_scalar(
        "WITH gone AS (
            DELETE FROM keyword_documents d WHERE d.namespace = $1 AND d.id = ANY ($2) RETURNING d.scope
         ), counts AS (
            SELECT scope, count(*) AS documents FROM gone GROUP BY scope
         ), kept AS (
            UPDATE scopes a SET documents = a.documents - s.documents FROM counts s
            WHERE a.namespace = $1 AND a.scope = s.scope
         )
         SELECT count(*) FROM gone",
    )
    .bind(namespace)
    .bind(ids)
    .fetch_one(connection)
    .await?;
    Ok(u64::try_from(removed).unwrap_or_default())
}

/// Stores the terms of the entries whose records have not changed.
pub(crate) async fn upsert(connection: &mut PgConnection, entries: &[KeywordEntry]) -> Result<(), PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, BTreeMap<RecordId, &KeywordEntry>> = BTreeMap::new();
    for entry in entries {
        by_namespace.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    for (namespace, entries) in by_namespace {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current_revisions(connection, namespace, &ids).await?;
        let fresh = current
            .iter()
            .filter_map(|revision| entries.get(&revision.id).filter(|entry| revision.matches(&entry.record)));
        let documents: Vec<_> = fresh.map(|entry| KeywordDocument::of(&entry.record, &entry.terms)).collect();
        let ids: Vec<Uuid> = documents.iter().map(|document| document.id).collect();
        remove(connection, namespace, &ids).await?;
        insert(connection, &documents).await?;
    }
    Ok(())
}

/// Removes the terms of these records in a scope. Returns the number of records that had terms.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<u64, PostgresError> {
    let mut removed = 0;
    for (namespace, ids) in row::ids_by_namespace(connection, covered, ids).await? {
        namespaces::lock_known(connection, &[namespace]).await?;
        removed += remove(connection, namespace, &ids).await?;
    }
    Ok(removed)
}

/// Returns the terms of these records, aligned with `ids`; `None` for one that has none or is outside `scope`.
pub(crate) async fn terms(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<PackedTerms>>, PostgresError> {
    let covered = CoveredScope::of(scope);
    let mut statement = StatementBuilder::new("SELECT d.id, d.terms, d.counts FROM ");
    covered.push_rows_by_id("keyword_documents d", "d", ids, &mut statement);
    let mut found: FxHashMap<RecordId, PackedTerms> = FxHashMap::default();
    for row in statement.fetch_all(connection).await? {
        let id = record_id(row.try_get("id")?);
        if let Some(terms) = read_terms(&row, id) {
            found.entry(id).or_insert(terms);
        }
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Returns these records with their terms, aligned with `ids`; `None` for one that is outside `scope`.
pub(crate) async fn records_with_terms(
    connection: &mut PgConnection,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<RecordWithTerms>>, PostgresError> {
    let mut statement = StatementBuilder::default();
    let join_terms = " LEFT JOIN keyword_documents d ON d.namespace = r.namespace AND d.id = r.id";
    row::push_select_records(scope, ", d.terms, d.counts", join_terms, &mut statement);
    statement.push(" WHERE r.id = ANY (").bind(uuids(ids)).push(") AND ");
    CoveredScope::of(scope).push_joined_record_condition(&mut statement);
    if scope.user_name().is_none() {
        statement.push(" ORDER BY n.username");
    }
    let mut found: FxHashMap<RecordId, RecordWithTerms> = FxHashMap::default();
    for row in statement.fetch_all(connection).await? {
        // If several users have a record with this id, the record of the first user is returned.
        if let Some(read) = read_with_terms(&row) {
            found.entry(read.record.id).or_insert(read);
        }
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Reads the record of a hit with its terms, as [`read_with_terms`] does.
pub(crate) fn read_found(hit: Hit, row: &PgRow) -> Option<FoundRecord> {
    read_with_terms(row).map(|record| FoundRecord { hit, record })
}

/// Reads a record with its terms. Returns `None` for a record that cannot be read, and reports it. Terms that cannot be
/// read are left out.
fn read_with_terms(row: &PgRow) -> Option<RecordWithTerms> {
    let record = row::read(row).inspect_err(DamagedRecord::warn).ok()?.record;
    let terms = read_terms(row, record.id);
    Some(RecordWithTerms { record, terms })
}

/// Reads the columns `terms` and `counts` of a row. Returns `None` if the record has none, or if they cannot be read;
/// then reports it.
fn read_terms(row: &PgRow, id: RecordId) -> Option<PackedTerms> {
    let words = row.try_get::<Option<Vec<u8>>, _>("terms").ok()??;
    let counts = row.try_get("counts").ok();
    let terms = String::from_utf8(words).ok().zip(counts);
    let terms = terms.and_then(|(words, counts)| PackedTerms::new(words, counts).ok());
    if terms.is_none() {
        DamagedRecord::new(id, "keyword_documents", "terms").warn();
    }
    terms
}

/// Removes the terms of all records of all tenants. Used when an index is rebuilt.
pub(crate) async fn clear(connection: &mut PgConnection) -> Result<(), PostgresError> {
    sqlx::raw_sql("TRUNCATE keyword_documents; UPDATE scopes SET documents = 0").execute(connection).await?;
    Ok(())
}
