//! The graph store contract: each call runs on a thread of the store.

use async_trait::async_trait;
use memory_engine_core::{RecordId, RemovalCounts, Result, Scope};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_sql::request::{check_filter, check_graph_entries};

use crate::{
    graph::{graph_rows, graph_walk},
    rows::scopes::CoveredScope,
    store::{SqliteStore, writer::Residue},
};

#[async_trait]
impl GraphStore for SqliteStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        check_graph_entries(scope, entries)?;
        let entries = entries.to_vec();
        let residue = |replaced: &bool| if *replaced { Residue::Replaced } else { Residue::None };
        self.write("graph upsert", residue, move |connection| graph_rows::upsert(connection, &entries)).await?;
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let residue = |removed: &RemovalCounts| {
            if *removed == RemovalCounts::default() { Residue::None } else { Residue::Deleted }
        };
        self.write("graph delete", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(RemovalCounts::default()),
            Some(covered) => graph_rows::delete(connection, &covered, &ids),
        })
        .await
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        check_filter(query.filter.as_ref())?;
        let scope = scope.clone();
        let query = query.clone();
        self.read("graph expand", move |connection| graph_walk::expand(connection, &scope, &query)).await
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let scope = scope.clone();
        self.read("graph stats", move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(GraphStats::default()),
            Some(covered) => graph_rows::stats(connection, &covered),
        })
        .await
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        let scope = scope.clone();
        let residue = |removed_any: &bool| if *removed_any { Residue::Deleted } else { Residue::None };
        let clear = self.write("graph clear", residue, move |connection| match CoveredScope::of(connection, &scope)? {
            None => Ok(false),
            Some(covered) => graph_rows::clear(connection, &covered),
        });
        clear.await.map(drop)
    }
}
