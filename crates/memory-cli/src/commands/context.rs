//! `memory context`.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::Result;
use clap::{Args, ValueEnum};
use memory_engine::{
    context::{BuiltContext, EstimatedTokens, LayerReport, LeftOutReason, Overflow, TokenCounter},
    llm::ScriptedModel,
};
use memory_engine_companion::{Companion, Pack};

use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    engine_options::EngineOptions,
    output,
    report::ReportArgs,
    reranker::RerankerArgs,
};

/// Show the context of a companion for a message, layer by layer.
///
/// Calls no model and stores nothing.
#[derive(Debug, Args)]
pub(crate) struct ContextCommand {
    /// Message to answer
    message: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    reranker: RerankerArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Folder of the companion with its pack.toml
    ///
    /// Default: the bundled example, in Chinese.
    #[arg(long, value_name = "FOLDER")]
    pack: Option<PathBuf>,
    /// Maximum number of tokens of the context; default: that of the pack
    #[arg(long, value_name = "TOKENS")]
    limit: Option<usize>,
    /// Token counter
    #[arg(long, value_enum, default_value = "estimate")]
    tokens: TokenUnit,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Also print the text of the context
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    report: ReportArgs,
}

/// The token counter.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TokenUnit {
    /// Estimate the number, rather too high than too low
    Estimate,
    /// Count with the token table of OpenAI's models, in a build with the feature `bpe`
    O200k,
}

impl TokenUnit {
    fn counter(self) -> Result<Arc<dyn TokenCounter>> {
        match self {
            Self::Estimate => Ok(Arc::new(EstimatedTokens)),
            #[cfg(feature = "bpe")]
            Self::O200k => Ok(Arc::new(memory_engine::context::BpeTokens)),
            #[cfg(not(feature = "bpe"))]
            Self::O200k => anyhow::bail!(
                "--tokens o200k needs a build with the feature `bpe` \
                 (`cargo install memory-engine-cli --features bpe`); this build has --tokens estimate"
            ),
        }
    }
}

/// Width of the widest bar in characters.
const BAR_WIDTH: usize = 32;

impl ContextCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let zone = self.timezone.zone();
        let counter = self.tokens.counter()?;
        let mut pack = self.pack.as_ref().map_or_else(Pack::example, Pack::open)?;
        if let Some(limit) = self.limit {
            pack.budgets.limit = limit;
        }
        let options = EngineOptions { reranker: self.reranker.reranker, ..EngineOptions::default() };
        let engine = self.store.open_with(options).await?;
        // The scripted model is never called.
        let companion = Companion::new(engine, Arc::new(ScriptedModel::default()), pack);
        let companion = companion.with_zone(zone).with_counter(counter);
        let built = companion.context(&scope, &self.message).await?;
        self.report.print(&built, || {
            let text = if self.text { format!("\n\n{}", built.text) } else { String::new() };
            draw(&built) + &text
        })
    }
}

/// Draws each layer as a bar with the items left out and the reason, then the total.
fn draw(built: &BuiltContext) -> String {
    let mut table = output::table(["layer", "", "tokens", "budget", "items", "left out"]);
    let widest = built.layers.iter().map(|layer| layer.tokens.max(layer.budget)).max().unwrap_or(0).max(1);
    for layer in &built.layers {
        let carried_over = if layer.flowed > 0 { format!(" +{}", layer.flowed) } else { String::new() };
        let cut = if layer.cut { ", the last one cut" } else { "" };
        table.add_row([
            layer.name.clone(),
            bar(layer, widest),
            layer.tokens.to_string(),
            format!("{}{carried_over}", layer.budget),
            format!("{}{cut}", layer.taken),
            left_out(layer),
        ]);
    }
    let stable = built.stable().chars().count();
    let total = output::counted(built.text.chars().count() as u64, "character", "characters");
    format!(
        "{table}\ntotal: {} of {} {}; the stable prefix has {stable} of {total}",
        built.tokens, built.limit, built.counter
    )
}

/// Returns a bar of the used and the free part of the budget.
fn bar(layer: &LayerReport, widest: usize) -> String {
    let scaled = |tokens: usize| (tokens * BAR_WIDTH).div_ceil(widest);
    let used = scaled(layer.tokens);
    format!("{}{}", "█".repeat(used), "░".repeat(scaled(layer.budget).saturating_sub(used)))
}

fn left_out(layer: &LayerReport) -> String {
    let count = |reason: LeftOutReason| layer.left_out.iter().filter(|left| left.reason == reason).count();
    let dropped = match layer.overflow {
        Overflow::DropOldest => "the oldest",
        Overflow::DropLowestScore => "the lowest",
        Overflow::TruncateAtSentence => "the end",
        Overflow::NeverCut => "none",
    };
    let reasons = [
        (count(LeftOutReason::Layer), format!("{dropped}: the layer is full")),
        (count(LeftOutReason::Whole), format!("{dropped}: the context is full")),
        (count(LeftOutReason::TooLarge), "larger than the layer".to_owned()),
    ];
    let reasons = reasons.iter().filter(|(count, _)| *count > 0).map(|(count, reason)| format!("{count} ({reason})"));
    reasons.collect::<Vec<_>>().join(", ")
}
