//! Inserts a whole batch in one statement: every further statement would be another round trip, while other writers
//! of the same users wait.

use std::collections::BTreeMap;

use memory_engine_core::{Embedding, Record, Scope};
use memory_engine_sql::rows::LEASE_FREE;
use sqlx::{PgConnection, Postgres, Row, postgres::PgArguments, query::Query};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    keywords::keyword_store::KeywordDocument,
    queue::job_rows::QueueEntry,
    records::row,
    records::scopes::{self, uuid},
    vectors::vector_store,
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

/// Inserts a batch whose namespaces are locked.
const INSERT_BATCH: &str = "SELECT memory_insert_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
    $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)";

/// Locks the namespaces and inserts a batch, if the database is in the state that the batch was made for.
const INSERT_NEW_BATCH: &str = "SELECT memory_insert_new_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
    $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36,
    $37)";

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
        self.bind(sqlx::query(INSERT_BATCH), last_chunk).execute(connection).await?;
        Ok(())
    }

    /// Inserts the batch with one statement outside of a transaction. Returns false, without a change, if the database
    /// is in another state, or if the batch is too large.
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
        let namespaces = &assumed.namespaces;
        let user = |scope: &Scope| scope.user_name().unwrap_or_default().to_owned();
        let query = self
            .bind(sqlx::query(INSERT_NEW_BATCH), chunk)
            .bind(namespaces.keys().copied().collect::<Vec<_>>())
            .bind(namespaces.values().map(|scope| scope.tenant().to_owned()).collect::<Vec<_>>())
            .bind(namespaces.values().map(|scope| user(scope)).collect::<Vec<_>>())
            .bind(assumed.analyzer.to_owned())
            .bind(assumed.space.to_owned())
            .bind(assumed.keys.0.clone())
            .bind(assumed.keys.1.clone())
            .bind(assumed.hashes.0.clone())
            .bind(assumed.hashes.1.clone());
        Ok(query.fetch_one(connection).await?.try_get(0)?)
    }

    /// Binds the parameters 1 to 28, of which `records` is one.
    fn bind<'q>(
        &self,
        query: Query<'q, Postgres, PgArguments>,
        records: Option<String>,
    ) -> Query<'q, Postgres, PgArguments> {
        let Self { documents, vectors, queue_entries, addresses, .. } = self;
        let names = |dimension: usize| -> Vec<String> {
            addresses.keys().map(|scope| scope.dimensions()[dimension].1.unwrap_or_default().to_owned()).collect()
        };
        query
            .bind(addresses.keys().map(|scope| scopes::namespace(scope)).collect::<Vec<_>>())
            .bind(addresses.keys().map(|scope| scopes::address(scope)).collect::<Vec<_>>())
            .bind(names(1))
            .bind(names(2))
            .bind(names(3))
            .bind(addresses.values().map(|counts| counts.documents).collect::<Vec<_>>())
            .bind(addresses.values().map(|counts| counts.vectors).collect::<Vec<_>>())
            .bind(records.unwrap_or_else(|| "[]".to_owned()))
            .bind(documents.iter().map(|document| document.ns).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.id).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.address).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.length).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.terms.clone()).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.counts.clone()).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.lexemes.clone()).collect::<Vec<_>>())
            .bind(vectors.iter().map(|(record, _)| scopes::namespace(&record.scope)).collect::<Vec<_>>())
            .bind(vectors.iter().map(|(record, _)| uuid(record.id)).collect::<Vec<_>>())
            .bind(vectors.iter().map(|(record, _)| scopes::address(&record.scope)).collect::<Vec<_>>())
            .bind(vectors.iter().map(|(_, embedding)| vector_store::stored_vector(embedding)).collect::<Vec<_>>())
            .bind(self.table.name())
            .bind(LEASE_FREE)
            .bind(queue_entries.iter().map(|(ns, _)| *ns).collect::<Vec<_>>())
            .bind(queue_entries.iter().map(|(_, entry)| entry.job.as_str()).collect::<Vec<_>>())
            .bind(queue_entries.iter().map(|(_, entry)| entry.id).collect::<Vec<_>>())
            .bind(queue_entries.iter().map(|(_, entry)| entry.ticket).collect::<Vec<_>>())
            .bind(queue_entries.iter().map(|(_, entry)| entry.queued_at.as_micros()).collect::<Vec<_>>())
            .bind(queue_entries.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
            .bind(documents.iter().map(|document| document.repeated_terms.clone()).collect::<Vec<_>>())
    }
}
