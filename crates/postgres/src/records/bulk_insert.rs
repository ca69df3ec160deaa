//! Inserts a whole batch in one statement: every further statement would be another round trip, while other writers
//! of the same users wait.
//!
//! The parts of the statement do not see each other's rows. They need not, since the server checks foreign keys at the
//! end of the statement.

use std::collections::BTreeMap;

use memory_engine_core::{Embedding, Record, Scope};
use memory_engine_sql::rows::LEASE_FREE;
use sqlx::PgConnection;
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

/// SQL of the statement, for vectors in one of the tables.
macro_rules! insert_batch {
    ($table:literal) => {
        concat!(
            "WITH new_addresses AS (
                INSERT INTO addresses (ns, address, agent, session, branch, documents, ",
            $table,
            ")
                SELECT x.*
                FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) x
                ON CONFLICT (ns, address) DO UPDATE SET documents = addresses.documents + excluded.documents, ",
            $table,
            " = addresses.",
            $table,
            " + excluded.",
            $table,
            "
                WHERE excluded.documents + excluded.",
            $table,
            " > 0
             ), new_records AS (",
            row::insert_records!("$8"),
            "), new_documents AS (
                INSERT INTO keyword_documents (ns, id, address, length, terms, counts, lexemes)
                SELECT x.ns, x.id, x.address, x.length, x.terms, x.counts, x.lexemes::tsvector
                FROM unnest($9::uuid[], $10::uuid[], $11::uuid[], $12::bigint[], $13::bytea[], $14::bytea[],
                            $15::text[])
                     x (ns, id, address, length, terms, counts, lexemes)
             ), new_vectors AS (
                INSERT INTO ",
            $table,
            " (ns, id, address, embedding)
                SELECT x.* FROM unnest($16::uuid[], $17::uuid[], $18::uuid[], $19::vector[]) x
             )
             INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at)
             SELECT x.ns, x.job, x.id, x.ticket, $20::bigint, x.queued_at
             FROM unnest($21::uuid[], $22::text[], $23::uuid[], $24::uuid[], $25::bigint[])
                  x (ns, job, id, ticket, queued_at)
             UNION ALL
             SELECT x.ns, o.part, x.id, x.ticket, $20::bigint, x.queued_at
             FROM unnest($21::uuid[], $22::text[], $23::uuid[], $26::uuid[], $25::bigint[])
                  x (ns, job, id, ticket, queued_at)
                  JOIN origins o ON o.part = 'reembedding'
             WHERE x.job = 'embedding'
             ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
             queued_at = excluded.queued_at, attempts = 0, reason = NULL"
        )
    };
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

    /// Inserts the batch.
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
        let Self { documents, vectors, queue_entries, addresses, .. } = &self;
        let names = |dimension: usize| -> Vec<&str> {
            addresses.keys().map(|scope| scope.dimensions()[dimension].1.unwrap_or_default()).collect()
        };
        sqlx::query(match self.table {
            VectorTable::First => insert_batch!("vectors"),
            VectorTable::Second => insert_batch!("second_vectors"),
        })
        .bind(addresses.keys().map(|scope| scopes::namespace(scope)).collect::<Vec<_>>())
        .bind(addresses.keys().map(|scope| scopes::address(scope)).collect::<Vec<_>>())
        .bind(names(1))
        .bind(names(2))
        .bind(names(3))
        .bind(addresses.values().map(|counts| counts.documents).collect::<Vec<_>>())
        .bind(addresses.values().map(|counts| counts.vectors).collect::<Vec<_>>())
        .bind(last_chunk.unwrap_or_else(|| "[]".to_owned()))
        .bind(documents.iter().map(|document| document.ns).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| document.id).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| document.address).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| document.length).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| &document.terms[..]).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| &document.counts[..]).collect::<Vec<_>>())
        .bind(documents.iter().map(|document| &document.lexemes[..]).collect::<Vec<_>>())
        .bind(vectors.iter().map(|(record, _)| scopes::namespace(&record.scope)).collect::<Vec<_>>())
        .bind(vectors.iter().map(|(record, _)| uuid(record.id)).collect::<Vec<_>>())
        .bind(vectors.iter().map(|(record, _)| scopes::address(&record.scope)).collect::<Vec<_>>())
        .bind(vectors.iter().map(|(_, embedding)| vector_store::stored_vector(embedding)).collect::<Vec<_>>())
        .bind(LEASE_FREE)
        .bind(queue_entries.iter().map(|(ns, _)| *ns).collect::<Vec<_>>())
        .bind(queue_entries.iter().map(|(_, entry)| entry.job.as_str()).collect::<Vec<_>>())
        .bind(queue_entries.iter().map(|(_, entry)| entry.id).collect::<Vec<_>>())
        .bind(queue_entries.iter().map(|(_, entry)| entry.ticket).collect::<Vec<_>>())
        .bind(queue_entries.iter().map(|(_, entry)| entry.queued_at.as_micros()).collect::<Vec<_>>())
        .bind(queue_entries.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
        Ok(())
    }
}
