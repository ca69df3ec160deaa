//! Options of all synonym commands.

use anyhow::Result;
use clap::Args;
use memory_engine::Scope;

use crate::{
    args::{DatabaseArgs, ScopeArgs},
    report::ReportArgs,
};

/// The database and the owner of the groups.
#[derive(Debug, Args)]
pub(super) struct GroupArgs {
    #[command(flatten)]
    pub(super) database: DatabaseArgs,
    #[command(flatten)]
    pub(super) within: ScopeArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

impl GroupArgs {
    /// Returns the owner's scope: the tenant, or one user.
    pub(super) fn scope(&self) -> Result<Scope> {
        Ok(self.within.scope()?.namespace())
    }
}
