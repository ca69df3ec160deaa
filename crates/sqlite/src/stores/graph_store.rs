//! The graph store contract: each call runs on a thread of the store.

use async_trait::async_trait;
use memory_engine_core::{RecordId, RemovalCounts, Result, Scope};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_sql::request::{check_filter, check_graph_entries};

use crate::{
    graph::{graph_rows, graph_walk},
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
        let ids = ids.to_vec();
        let residue = |removed: &RemovalCounts| {
            if *removed == RemovalCounts::default() { Residue::None } else { Residue::Deleted }
        };
        self.write_covered("graph delete", residue, scope, move |connection, covered| {
            graph_rows::delete(connection, covered, &ids)
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
        self.read_covered("graph stats", scope, graph_rows::stats).await
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        let residue = |removed_any: &bool| if *removed_any { Residue::Deleted } else { Residue::None };
        self.write_covered("graph clear", residue, scope, graph_rows::clear).await.map(drop)
    }
}
