//! The arguments of commands that work on the records within a scope.

use anyhow::Result;
use clap::Args;
use memory_engine::MemoryEngine;

use crate::{
    args::{DatabaseArgs, ScopeArgs, StoreArgs},
    engine_options::EnrichmentArgs,
    report::ReportArgs,
};

/// The database, the scope and the report of a command that needs neither an index nor a model.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

impl TargetArgs {
    /// Opens the existing database without its indexes.
    pub(crate) async fn open(&self) -> Result<MemoryEngine> {
        self.database.open_without_indexes().await
    }
}

/// The store, the enrichment, the scope and the report of a command whose records are indexed and enriched.
#[derive(Debug, Args)]
pub(crate) struct StoreTargetArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) enrichment: EnrichmentArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

impl StoreTargetArgs {
    /// Opens the existing database with its embedder if possible, and with the enrichment.
    pub(crate) async fn open(&self) -> Result<MemoryEngine> {
        self.store.open_with_any_embedder(self.enrichment.engine_options()?).await
    }
}
