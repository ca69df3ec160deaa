//! Inserts a whole batch in one statement: every further statement would be another round trip, while other writers
//! of the same users wait.

use std::collections::BTreeMap;

use memory_engine_core::{Embedding, Record, Scope};
use memory_engine_sql::rows::LEASE_FREE;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    keywords::keyword_rows::KeywordDocument,
    queue::job_rows::QueueEntry,
    rows::{
        row,
        scopes::{self, uuid},
    },
    vectors::vector_rows,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// New records, and new index entries and queue entries of records.
#[derive(Debug)]
pub(crate) struct BulkInsert<'a> {
    /// The table for the vectors.
    table: VectorTable,
    records: Vec<&'a Record>,
    documents: Vec<KeywordDocument>,
    vectors: Vec<(&'a Record, &'a Embedding)>,
    queue_entries: Vec<(Uuid, QueueEntry)>,
    /// Numbers of new documents and vectors of each scope.
    addresses: BTreeMap<&'a Scope, AddressCounts>,
}

#[derive(Debug, Default)]
struct AddressCounts {
    documents: i64,
    vectors: i64,
}

/// The state of the database that a batch of new records was made for.
#[derive(Debug)]
pub(crate) struct AssumedState<'a> {
    /// The analyzer of the keyword index.
    pub(crate) analyzer: &'a str,
    /// The embedding space of the only embedding version.
    pub(crate) space: &'a str,
    /// The namespaces of the batch, which are locked.
    pub(crate) namespaces: BTreeMap<Uuid, &'a Scope>,
    /// Keys of which there are no records and no tombstones.
    pub(crate) keys: (Vec<Uuid>, Vec<Uuid>),
    /// Namespaces and hashes of contents that were not deleted.
    pub(crate) hashes: (Vec<Uuid>, Vec<Vec<u8>>),
}

impl<'a> BulkInsert<'a> {
    /// Creates an empty batch, whose vectors go into this table.
    pub(crate) fn new(table: VectorTable) -> Self {
        Self {
            table,
            records: Vec::new(),
            documents: Vec::new(),
            vectors: Vec::new(),
            queue_entries: Vec::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// Adds a new record.
    pub(crate) fn add_record(&mut self, record: &'a Record) {
        self.records.push(record);
        self.addresses.entry(&record.scope).or_default();
    }

    /// Adds the terms of a record that has none.
    pub(crate) fn add_document(&mut self, record: &'a Record, document: KeywordDocument) {
        self.documents.push(document);
        self.addresses.entry(&record.scope).or_default().documents += 1;
    }

    /// Adds the vector of a record that has none.
    pub(crate) fn add_vector(&mut self, record: &'a Record, embedding: &'a Embedding) {
        self.vectors.push((record, embedding));
        self.addresses.entry(&record.scope).or_default().vectors += 1;
    }

    /// Adds a queue entry for a record.
    pub(crate) fn add_queue_entry(&mut self, record: &Record, entry: QueueEntry) {
        self.queue_entries.push((scopes::namespace(&record.scope), entry));
    }

    /// Inserts the batch. Its namespaces must be locked.
    pub(crate) async fn execute(self, connection: &mut PgConnection) -> Result<(), PostgresError> {
        let mut chunks = row::json_chunks(&self.records)?;
        // Only the last chunk of the records is part of the statement.
        let last_chunk = chunks.pop();
        if last_chunk.is_none() && self.addresses.is_empty() && self.queue_entries.is_empty() {
            return Ok(());
        }
        if !chunks.is_empty() {
            scopes::insert_addresses(connection, &self.addresses.keys().copied().collect::<Vec<_>>()).await?;
            row::insert(connection, chunks).await?;
        }
        let mut statement = StatementBuilder::new("SELECT ");
        self.push_insert(last_chunk, &mut statement);
        statement.fetch_one(connection).await?;
        Ok(())
    }

    /// Inserts the batch with one statement outside of a transaction. Returns false, and stores no record, if the
    /// database is in another state, or if the batch is too large.
    pub(crate) async fn execute_if_new(
        self,
        connection: &mut PgConnection,
        assumed: &AssumedState<'_>,
    ) -> Result<bool, PostgresError> {
        let mut chunks = row::json_chunks(&self.records)?;
        let chunk = chunks.pop();
        if !chunks.is_empty() {
            return Ok(false);
        }
        let mut statement = StatementBuilder::new("SELECT CASE WHEN ");
        self.push_lock(assumed, &mut statement);
        self.push_insert(chunk, statement.push(" THEN "));
        statement.push(" ELSE false END");
        Ok(statement.fetch_one(connection).await?.try_get(0)?)
    }

    /// Appends a call that locks the namespaces, and is true if the database is in this state.
    fn push_lock(&self, assumed: &AssumedState<'_>, statement: &mut StatementBuilder) {
        let scopes = assumed.namespaces.values();
        statement
            .push("memory_lock_if_new(locked_namespaces => ")
            .bind(assumed.namespaces.keys().copied().collect::<Vec<_>>())
            .argument("locked_tenants", column(scopes.clone(), |scope| scope.tenant().to_owned()))
            .argument("locked_users", column(scopes, |scope| scope.user_name().unwrap_or_default().to_owned()))
            .argument("assumed_analyzer", assumed.analyzer.to_owned())
            .argument("assumed_space", assumed.space.to_owned())
            .argument("vector_table", self.table.name())
            .argument("new_namespaces", assumed.keys.0.clone())
            .argument("new_ids", assumed.keys.1.clone())
            .argument("hash_namespaces", assumed.hashes.0.clone())
            .argument("new_hashes", assumed.hashes.1.clone())
            .push(")");
    }

    /// Appends a call that inserts the batch. `records` is a JSON array of rows.
    fn push_insert(&self, records: Option<String>, statement: &mut StatementBuilder) {
        statement.push("memory_insert_batch(records_json => ").bind(records.unwrap_or_else(|| "[]".to_owned()));
        self.push_scopes(statement);
        self.push_documents(statement);
        self.push_vectors(statement);
        self.push_jobs(statement);
        statement.push(")");
    }

    fn push_scopes(&self, statement: &mut StatementBuilder) {
        let scopes = self.addresses.keys().copied();
        let names = |dimension: usize| -> Vec<String> {
            scopes.clone().map(|scope| scope.dimensions()[dimension].1.unwrap_or_default().to_owned()).collect()
        };
        statement
            .argument("scope_namespaces", column(scopes.clone(), scopes::namespace))
            .argument("scope_ids", column(scopes.clone(), scopes::address))
            .argument("scope_agents", names(1))
            .argument("scope_sessions", names(2))
            .argument("scope_branches", names(3))
            .argument("scope_documents", column(self.addresses.values(), |counts| counts.documents))
            .argument("scope_vectors", column(self.addresses.values(), |counts| counts.vectors));
    }

    fn push_documents(&self, statement: &mut StatementBuilder) {
        let documents = &self.documents;
        statement
            .argument("document_namespaces", column(documents, |document| document.namespace))
            .argument("document_ids", column(documents, |document| document.id))
            .argument("document_scopes", column(documents, |document| document.address))
            .argument("document_lengths", column(documents, |document| document.length))
            .argument("document_terms", column(documents, |document| document.terms.clone()))
            .argument("document_counts", column(documents, |document| document.counts.clone()))
            .argument("document_lexemes", column(documents, |document| document.lexemes.clone()))
            .argument("document_repeated_terms", column(documents, |document| document.repeated_terms.clone()));
    }

    fn push_vectors(&self, statement: &mut StatementBuilder) {
        let vectors = &self.vectors;
        statement
            .argument("vector_namespaces", column(vectors, |(record, _)| scopes::namespace(&record.scope)))
            .argument("vector_ids", column(vectors, |(record, _)| uuid(record.id)))
            .argument("vector_scopes", column(vectors, |(record, _)| scopes::address(&record.scope)))
            .argument("vector_embeddings", column(vectors, |(_, embedding)| vector_rows::stored_vector(embedding)))
            .argument("vector_table", self.table.name());
    }

    fn push_jobs(&self, statement: &mut StatementBuilder) {
        let entries = self.queue_entries.iter().map(|(_, entry)| entry);
        statement
            .argument("job_namespaces", column(&self.queue_entries, |(namespace, _)| *namespace))
            .argument("job_kinds", column(entries.clone(), |entry| entry.job.as_str()))
            .argument("job_ids", column(entries.clone(), |entry| entry.id))
            .argument("job_tickets", column(entries.clone(), |entry| entry.ticket))
            .argument("job_times", column(entries.clone(), |entry| entry.queued_at.as_micros()))
            .argument("job_second_tickets", column(entries, |_| Uuid::now_v7()))
            .argument("lease_free", LEASE_FREE);
    }
}

/// Returns an array of one column of the items.
fn column<T, V>(items: impl IntoIterator<Item = T>, read: impl FnMut(T) -> V) -> Vec<V> {
    items.into_iter().map(read).collect()
}
