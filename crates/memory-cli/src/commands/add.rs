//! `memory add`.

use std::{io::Read, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{Kind, Role, Timestamp, Turn, retention::parse_time_to_live, store::repetitions};

use crate::{args::ZoneArgs, output, target_args::StoreTargetArgs};

/// Store one text.
#[derive(Debug, Args)]
pub(crate) struct AddCommand {
    /// Text to store; `-` reads standard input
    text: String,
    /// Role of the speaker, such as user or assistant
    #[arg(long, default_value = "user")]
    role: String,
    /// Name of the speaker
    #[arg(long)]
    speaker: Option<String>,
    /// Time of the event; default: now
    #[arg(long)]
    time: Option<String>,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Scene of the record
    #[arg(long)]
    scene: Option<String>,
    /// Kind of the record, such as fact or note
    ///
    /// Kinds that begin with `ledger/` are refused.
    #[arg(long, default_value = "turn", value_parser = kind)]
    kind: Kind,
    /// Pin the record: it does not expire, and is part of every context
    #[arg(long)]
    pin: bool,
    /// Importance, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0.5)]
    importance: f64,
    /// Time after which the record expires, as in 30d; default: never
    #[arg(long, value_name = "DURATION", value_parser = parse_time_to_live)]
    expires_in: Option<Duration>,
    /// Labels, separated by commas
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    #[command(flatten)]
    target: StoreTargetArgs,
}

/// Parses a kind. Entries of a ledger are data of a program, which a person would not find again: searches skip them.
fn kind(text: &str) -> Result<Kind> {
    let kind = Kind::new(text);
    if text.trim().is_empty() {
        bail!("the kind is empty; write for example turn, fact or note");
    }
    if kind.is_ledger() {
        bail!("kinds that begin with `ledger/` are written by programs; write for example turn, fact or note");
    }
    Ok(kind)
}

impl AddCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let mut text = self.text;
        if text == "-" {
            text.clear();
            std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
        }
        let mut turn = Turn::user(text).with_role(Role::new(self.role)).with_kind(self.kind).with_tags(self.tags);
        if let Some(speaker) = self.speaker {
            turn = turn.with_speaker(speaker);
        }
        let mut zone = self.timezone.zone();
        if let Some(time) = self.time {
            turn = turn.at(Timestamp::parse_in(&time, &zone)?);
            zone = Timestamp::zone_of(&time).unwrap_or(zone);
        }
        turn = turn.with_importance(self.importance);
        if self.pin {
            turn = turn.pinned();
        }
        if let Some(duration) = self.expires_in {
            turn = turn.with_time_to_live(duration);
        }
        if let Some(scene) = self.scene {
            turn = turn.with_scene(scene);
        }
        let options = self.target.enrichment.engine_options()?.with_locale(zone, None);
        let engine = self.target.store.create_with(options).await?;
        let id = engine.remember(&scope, turn).await?;
        // The record is stored. Indexing may have to wait, for example for another process.
        // Only a turn that counts this one has a count.
        let stored = engine.get(&scope.namespace(), id).await?;
        let mut json = serde_json::json!({ "id": id });
        if let Some(count) = stored.as_ref().and_then(repetitions) {
            report_line!("said {count} times today: counted, and not stored again");
            json["repetitions"] = count.into();
        }
        let code = self.target.report.print_line(&json, || id.to_string())?;
        output::finish_indexing(&engine, &scope).await?;
        Ok(code)
    }
}
