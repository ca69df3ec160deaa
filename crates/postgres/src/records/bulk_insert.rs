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
        let users = scopes.clone().map(|scope| scope.user_name().unwrap_or_default().to_owned());
        statement
            .push("memory_lock_if_new(locked_namespaces => ")
            .bind(assumed.namespaces.keys().copied().collect::<Vec<_>>())
            .argument("locked_tenants", scopes.map(|scope| scope.tenant().to_owned()).collect::<Vec<_>>())
            .argument("locked_users", users.collect::<Vec<_>>())
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
        let scopes = self.addresses.keys();
        let names = |dimension: usize| -> Vec<String> {
            scopes.clone().map(|scope| scope.dimensions()[dimension].1.unwrap_or_default().to_owned()).collect()
        };
        statement
            .argument("scope_namespaces", scopes.clone().map(|scope| scopes::namespace(scope)).collect::<Vec<_>>())
            .argument("scope_ids", scopes.clone().map(|scope| scopes::address(scope)).collect::<Vec<_>>())
            .argument("scope_agents", names(1))
            .argument("scope_sessions", names(2))
            .argument("scope_branches", names(3))
            .argument("scope_documents", self.addresses.values().map(|counts| counts.documents).collect::<Vec<_>>())
            .argument("scope_vectors", self.addresses.values().map(|counts| counts.vectors).collect::<Vec<_>>());
    }

    fn push_documents(&self, statement: &mut StatementBuilder) {
        let documents = &self.documents;
        statement
            .argument("document_namespaces", documents.iter().map(|document| document.namespace).collect::<Vec<_>>())
            .argument("document_ids", documents.iter().map(|document| document.id).collect::<Vec<_>>())
            .argument("document_scopes", documents.iter().map(|document| document.address).collect::<Vec<_>>())
            .argument("document_lengths", documents.iter().map(|document| document.length).collect::<Vec<_>>())
            .argument("document_terms", documents.iter().map(|document| document.terms.clone()).collect::<Vec<_>>())
            .argument("document_counts", documents.iter().map(|document| document.counts.clone()).collect::<Vec<_>>())
            .argument("document_lexemes", documents.iter().map(|document| document.lexemes.clone()).collect::<Vec<_>>())
            .argument(
                "document_repeated_terms",
                documents.iter().map(|document| document.repeated_terms.clone()).collect::<Vec<_>>(),
            );
    }

    fn push_vectors(&self, statement: &mut StatementBuilder) {
        let vectors = &self.vectors;
        statement
            .argument(
                "vector_namespaces",
                vectors.iter().map(|(record, _)| scopes::namespace(&record.scope)).collect::<Vec<_>>(),
            )
            .argument("vector_ids", vectors.iter().map(|(record, _)| uuid(record.id)).collect::<Vec<_>>())
            .argument(
                "vector_scopes",
                vectors.iter().map(|(record, _)| scopes::address(&record.scope)).collect::<Vec<_>>(),
            )
            .argument(
                "vector_embeddings",
                vectors.iter().map(|(_, embedding)| vector_rows::stored_vector(embedding)).collect::<Vec<_>>(),
            )
            .argument("vector_table", self.table.name());
    }

    fn push_jobs(&self, statement: &mut StatementBuilder) {
        let entries = self.queue_entries.iter().map(|(_, entry)| entry);
        statement
            .argument("job_namespaces", self.queue_entries.iter().map(|(namespace, _)| *namespace).collect::<Vec<_>>())
            .argument("job_kinds", entries.clone().map(|entry| entry.job.as_str()).collect::<Vec<_>>())
            .argument("job_ids", entries.clone().map(|entry| entry.id).collect::<Vec<_>>())
            .argument("job_tickets", entries.clone().map(|entry| entry.ticket).collect::<Vec<_>>())
            .argument("job_times", entries.clone().map(|entry| entry.queued_at.as_micros()).collect::<Vec<_>>())
            .argument("job_second_tickets", entries.map(|_| Uuid::now_v7()).collect::<Vec<_>>())
            .argument("lease_free", LEASE_FREE);
    }
}
