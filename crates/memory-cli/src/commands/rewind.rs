//! `memory rewind`.

use std::{num::NonZeroUsize, process::ExitCode};

use anyhow::{Result, bail};
use clap::Args;

use super::retract;
use crate::{output, records, target_args::StoreTargetArgs};

/// Retract the last turns of a session and everything derived from them.
///
/// `restore` restores them.
#[derive(Debug, Args)]
pub(crate) struct RewindCommand {
    #[command(flatten)]
    extent: Extent,
    #[command(flatten)]
    target: StoreTargetArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Extent {
    /// Retract the last N turns
    #[arg(long, value_name = "N")]
    last: Option<NonZeroUsize>,
    /// Retract everything after this sequence number
    #[arg(long, value_name = "SEQUENCE", allow_negative_numbers = true)]
    to: Option<i64>,
}

impl RewindCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.conversation()?;
        let extent = match (self.extent.last, self.extent.to) {
            (Some(last), _) => memory_engine::history::Rewind::Last(last.get()),
            (None, Some(sequence)) => memory_engine::history::Rewind::To(sequence),
            (None, None) => bail!("no turns given; add --last N or --to SEQUENCE"),
        };
        let engine = self.target.open().await?;
        let retraction = engine.history().rewind(&scope, extent).await?;
        if retraction.records.is_empty() {
            records::require_records_at(&engine, &scope).await?;
            bail!("nothing to retract at {scope}; --to retracts records with a greater sequence number");
        }
        output::finish_indexing(&engine, &scope.namespace()).await?;
        retract::print(&retraction, &scope, self.target.report)
    }
}
