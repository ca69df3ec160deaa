//! `memory summarize`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::{Field, Filter, Kind, ScanQuery, State};

use crate::{
    args::{ScopeArgs, StoreArgs},
    engine_options::EngineOptions,
    extraction::DigestArgs,
    output, records,
    report::ReportArgs,
    screening::ScreeningArgs,
};

/// Summarize the turns of a conversation that have no summary yet.
///
/// Does not wait for more turns.
#[derive(Debug, Args)]
pub(crate) struct SummarizeCommand {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    screening: ScreeningArgs,
    #[command(flatten)]
    digest: DigestArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl SummarizeCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.conversation()?;
        let options = EngineOptions {
            enrichment: self.digest.required_options()?,
            screening: Some(self.screening.policy()?),
            ..EngineOptions::default()
        };
        let engine = self.store.open_with(options).await?;
        let count = engine.admin().summarize_now(&scope).await?;
        if count == 0 {
            records::require_records_at(&engine, &scope).await?;
        }
        output::finish_indexing(&engine, &scope.namespace()).await?;
        let summaries =
            Filter::eq(Field::Kind, Kind::SUMMARY.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let new_summaries = match count {
            0 => Vec::new(),
            count => engine.scan(&scope, &ScanQuery::newest(count).with_filter(summaries)).await?.records,
        };
        self.report.print(&new_summaries, || {
            let texts: String = new_summaries.iter().rev().map(|summary| format!("\n\n{}", summary.text)).collect();
            format!("{} created{texts}", output::counted(count as u64, "summary", "summaries"))
        })
    }
}
