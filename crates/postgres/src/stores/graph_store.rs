//! Implements the contract for graphs: each call runs on a connection of the store.

use async_trait::async_trait;
use memory_engine_core::{RecordId, RemovalCounts, Result, Scope};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_sql::request::{check_filter, check_graph_entries};

use crate::{
    database::transaction::{with_reader, with_transaction},
    graph::{graph_rows, graph_walk},
    rows::scopes::CoveredScope,
    store::PostgresStore,
};

#[async_trait]
impl GraphStore for PostgresStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        check_graph_entries(scope, entries)?;
        with_transaction!(self, "graph upsert", |connection| graph_rows::upsert(connection, entries).await)
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "graph delete", |connection| graph_rows::delete(connection, &covered, ids).await)
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        check_filter(query.filter.as_ref())?;
        with_reader!(self, "graph expand", |connection| graph_walk::expand(connection, scope, query).await)
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let covered = CoveredScope::of(scope);
        with_reader!(self, "graph stats", |connection| graph_rows::stats(connection, &covered).await)
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "graph clear", |connection| graph_rows::clear(connection, &covered).await)
    }
}
