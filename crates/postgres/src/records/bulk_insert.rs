//! Inserts a whole batch in one statement: every further statement would be another round trip, while other writers
//! of the same users wait.
//!
//! The parts of a statement do not see each other's rows, and need not: the server checks what refers to what when the
//! statement ends.

use std::collections::BTreeMap;

use memory_engine_core::{Embedding, Record, Scope};
use memory_engine_sql::rows::LEASE_FREE;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    keywords::keyword_store::Document,
    queue::backlog::Ticket,
    records::row,
    records::scopes::{self, uuid},
    vectors::vector_store,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Records that are not there yet, and what is derived from records that has no rows yet.
#[derive(Debug)]
pub(crate) struct Addition<'a> {
    home: VectorTable,
    records: Vec<&'a Record>,
    documents: Vec<Document>,
    vectors: Vec<(&'a Record, &'a Embedding)>,
    tickets: Vec<(Uuid, Ticket)>,
    /// Numbers of documents and vectors of each scope.
    addresses: BTreeMap<&'a Scope, (i64, i64)>,
}

/// The statement, for vectors in one of the tables.
macro_rules! adding {
    ($table:literal) => {
        concat!(
            "WITH new_addresses AS (
                INSERT INTO addresses (ns, address, agent, session, branch, documents, ",
            $table,
            ")
                SELECT x.* FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) x
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
            row::inserting!("$8"),
            "), new_documents AS (
                INSERT INTO keyword_documents (ns, id, address, length, terms, counts, lexemes)
                SELECT x.ns, x.id, x.address, x.length, x.terms, x.counts, x.lexemes::tsvector
                FROM unnest($9::uuid[], $10::uuid[], $11::uuid[], $12::bigint[], $13::bytea[], $14::bytea[], $15::text[])
                     x (ns, id, address, length, terms, counts, lexemes)
             ), new_vectors AS (
                INSERT INTO ",
            $table,
            " (ns, id, address, embedding)
                SELECT x.* FROM unnest($16::uuid[], $17::uuid[], $18::uuid[], $19::vector[]) x
             )
             INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at)
             SELECT x.ns, x.job, x.id, x.ticket, $20::bigint, x.queued_at
             FROM unnest($21::uuid[], $22::text[], $23::uuid[], $24::uuid[], $25::bigint[]) x (ns, job, id, ticket, queued_at)
             UNION ALL
             SELECT x.ns, o.part, x.id, x.ticket, $20::bigint, x.queued_at
             FROM unnest($21::uuid[], $22::text[], $23::uuid[], $26::uuid[], $25::bigint[]) x (ns, job, id, ticket, queued_at)
                  JOIN origins o ON o.part = 'reembedding'
             WHERE x.job = 'embedding'
             ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
             queued_at = excluded.queued_at, attempts = 0, reason = NULL"
        )
    };
}

impl<'a> Addition<'a> {
    /// Nothing yet; vectors go into this table.
    pub(crate) fn to(home: VectorTable) -> Self {
        Self {
            home,
            records: Vec::new(),
            documents: Vec::new(),
            vectors: Vec::new(),
            tickets: Vec::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// A record that is not there yet.
    pub(crate) fn record(&mut self, record: &'a Record) {
        self.records.push(record);
        self.addresses.entry(&record.scope).or_default();
    }

    /// The terms of a record that has none.
    pub(crate) fn document(&mut self, record: &'a Record, document: Document) {
        self.documents.push(document);
        self.addresses.entry(&record.scope).or_default().0 += 1;
    }

    /// The vector of a record that has none.
    pub(crate) fn vector(&mut self, record: &'a Record, embedding: &'a Embedding) {
        self.vectors.push((record, embedding));
        self.addresses.entry(&record.scope).or_default().1 += 1;
    }

    /// Adds a queue entry for a record.
    pub(crate) fn ticket(&mut self, record: &Record, ticket: Ticket) {
        self.tickets.push((scopes::namespace(&record.scope), ticket));
    }

    /// Adds it.
    pub(crate) async fn write(self, connection: &mut PgConnection) -> Result<(), PostgresError> {
        let mut chunks = row::chunks(&self.records)?;
        let last = chunks.pop();
        if last.is_none() && self.addresses.is_empty() && self.tickets.is_empty() {
            return Ok(());
        }
        if !chunks.is_empty() {
            scopes::settle(connection, &self.addresses.keys().copied().collect::<Vec<_>>()).await?;
            row::insert(connection, chunks).await?;
        }
        let Self { documents, vectors, tickets, addresses, .. } = &self;
        let named = |place: usize| -> Vec<&str> {
            addresses.keys().map(|scope| scope.dimensions()[place].1.unwrap_or_default()).collect()
        };
        sqlx::query(match self.home {
            VectorTable::First => adding!("vectors"),
            VectorTable::Second => adding!("second_vectors"),
        })
        .bind(addresses.keys().map(|scope| scopes::namespace(scope)).collect::<Vec<_>>())
        .bind(addresses.keys().map(|scope| scopes::address(scope)).collect::<Vec<_>>())
        .bind(named(1))
        .bind(named(2))
        .bind(named(3))
        .bind(addresses.values().map(|(documents, _)| *documents).collect::<Vec<_>>())
        .bind(addresses.values().map(|(_, vectors)| *vectors).collect::<Vec<_>>())
        .bind(last.unwrap_or_else(|| "[]".to_owned()))
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
        .bind(vectors.iter().map(|(_, embedding)| vector_store::kept(embedding)).collect::<Vec<_>>())
        .bind(LEASE_FREE)
        .bind(tickets.iter().map(|(ns, _)| *ns).collect::<Vec<_>>())
        .bind(tickets.iter().map(|(_, ticket)| ticket.job.as_str()).collect::<Vec<_>>())
        .bind(tickets.iter().map(|(_, ticket)| ticket.id).collect::<Vec<_>>())
        .bind(tickets.iter().map(|(_, ticket)| ticket.ticket).collect::<Vec<_>>())
        .bind(tickets.iter().map(|(_, ticket)| ticket.queued_at.as_micros()).collect::<Vec<_>>())
        .bind(tickets.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
        Ok(())
    }
}
