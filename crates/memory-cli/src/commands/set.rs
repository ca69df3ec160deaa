//! `memory set`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};
use memory_engine::{
    Timestamp,
    retention::{RecordPatch, parse_time_to_live},
};

use crate::{
    args::ZoneArgs, engine_options::EngineOptions, output, records, screening::ScreeningArgs, target_args::TargetArgs,
};

/// Pin records, or set their importance or expiry.
///
/// A pinned record does not expire, is not superseded by extracted facts, and is part of every context. Records that
/// are derived from it, such as facts, expire with the earliest of their sources.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true)))]
pub(crate) struct SetCommand {
    /// Ids of the records, or their ids in an imported file
    #[arg(required = true)]
    ids: Vec<String>,
    /// Pin the records
    #[arg(long, group = "change", conflicts_with = "unpin")]
    pin: bool,
    /// Unpin the records
    #[arg(long, group = "change")]
    unpin: bool,
    /// Importance, from 0 to 1; that of new records is 0.5
    #[arg(long, group = "change", value_name = "NUMBER")]
    importance: Option<f64>,
    /// Time at which the records expire
    #[arg(long, group = "change", value_name = "TIME", conflicts_with_all = ["expires_in", "keep"])]
    expires_at: Option<String>,
    /// Time from now after which the records expire, as in 30d or 12h
    #[arg(long, group = "change", value_name = "DURATION", value_parser = parse_time_to_live, conflicts_with = "keep")]
    expires_in: Option<Duration>,
    /// Remove the expiry
    #[arg(long, group = "change")]
    keep: bool,
    #[command(flatten)]
    timezone: ZoneArgs,
    #[command(flatten)]
    screening: ScreeningArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl SetCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        // The changed record is stored again, and screened like every record.
        let options = EngineOptions { screening: Some(self.screening.policy()?), ..EngineOptions::default() };
        let engine = self.target.database.open_without_indexes_with(options).await?;
        let mut patch = RecordPatch::default();
        if self.pin || self.unpin {
            patch = patch.pinned(self.pin);
        }
        if let Some(importance) = self.importance {
            patch = patch.importance(importance);
        }
        let now = engine.settings().clock().now();
        if let Some(time) = &self.expires_at {
            let time = Timestamp::parse_in(time, &self.timezone.zone())?;
            if time <= now {
                bail!("{time} is in the past; `memory forget` deletes records at once");
            }
            patch = patch.expires_at(time);
        }
        if let Some(duration) = self.expires_in {
            patch = patch.expires_at(now.after(duration));
        }
        if self.keep {
            patch = patch.never_expires();
        }
        let ids = records::resolve(&engine, &scope, &self.ids, "nothing was changed").await?;
        let changed = engine.patch(&scope, &ids, patch).await?;
        self.target.report.print(&serde_json::json!({ "changed": changed }), || {
            format!("{} changed", output::counted(changed, "record", "records"))
        })
    }
}
