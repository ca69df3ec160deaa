//! `memory synonyms suggest`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use futures::{StreamExt, TryStreamExt};
use memory_engine::{
    Field, Filter, MemoryEngine, Record, Scope, State,
    embed::{Embedding, Purpose},
    synonyms::{SourceText, Suggester, Suggestion},
};
use serde_json::json;

use crate::{args::StoreArgs, embedder::EmbedderArgs, output, records::PAGE_RECORDS, target_args::TargetArgs};

/// Minimum semantic weight of an embedder whose similarity shows meaning rather than spelling.
const MIN_SEMANTIC_WEIGHT: f64 = 0.5;
/// Maximum length of a text shown as evidence, in characters.
const EVIDENCE_CHARS: usize = 50;

/// Suggest pairs of words from stored texts, with evidence; changes nothing.
#[derive(Debug, Args)]
pub(super) struct Suggest {
    /// Maximum number of pairs
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Minimum number of records with each of the words
    #[arg(long, default_value_t = 3, value_name = "NUMBER")]
    uses: u32,
    /// Maximum number of records to read, the newest first
    #[arg(long, default_value_t = 20_000, value_name = "NUMBER")]
    records: usize,
    #[command(flatten)]
    embedder: EmbedderArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl Suggest {
    pub(super) async fn run(self) -> Result<ExitCode> {
        // Texts are read from the whole scope; decisions are stored for its user or tenant.
        let scope = self.target.scope.scope()?;
        let engine = StoreArgs::new(self.target.database.clone(), self.embedder.clone()).open().await?;
        let records = self.records(&engine, &scope).await?;
        let texts: Vec<SourceText<'_>> = records.iter().map(SourceText::of).collect();
        let mut suggester = Suggester::default().with_limit(self.limit);
        suggester.min_records = self.uses.max(1);
        let vectors = vectors(&engine, suggester.words(&texts)).await;
        let known = engine.settings().synonyms().of(&scope).await?;
        let verdicts = engine.settings().synonyms().store().verdicts(&scope.namespace()).await?;
        let found = suggester.suggest(&texts, &vectors, &known, &verdicts);

        let example = |suggestion: &Suggestion| {
            let first = suggestion.evidence.examples.first();
            first.and_then(|id| texts.iter().find(|known| known.id == *id)).map(|known| known.text).unwrap_or_default()
        };
        let line = |s: &Suggestion| json!({ "pair": s.pair, "evidence": s.evidence, "example": example(s) });
        self.target.report.print(&found.iter().map(line).collect::<Vec<_>>(), || {
            if found.is_empty() {
                let records = output::counted(texts.len() as u64, "record", "records");
                return format!("no synonyms suggested from {records} within {scope}");
            }
            let header = ["word", "other word", "reason", "records", "similarity", "example"];
            let mut table = output::table(header);
            for suggestion in &found {
                let evidence = &suggestion.evidence;
                table.add_row([
                    suggestion.pair.first().to_owned(),
                    suggestion.pair.second().to_owned(),
                    evidence.reason.to_string(),
                    format!("{} and {}", evidence.records[0], evidence.records[1]),
                    format!("{:.2}", evidence.similarity),
                    output::shorten(example(suggestion), EVIDENCE_CHARS),
                ]);
            }
            format!(
                "{table}\nNothing was changed. `memory synonyms accept WORD OTHER` or \
                 `memory synonyms reject WORD OTHER` stores your decision."
            )
        })
    }

    async fn records(&self, engine: &MemoryEngine, scope: &Scope) -> Result<Vec<Record>> {
        let active = Filter::eq(Field::State, State::Active.as_str());
        let records = engine.records(scope).filter(active).newest_first().page_rows(PAGE_RECORDS).stream();
        Ok(records.take(self.records).try_collect().await?)
    }
}

/// Returns the vectors of words, or none if the embedder does not represent meaning. Without vectors, pairs are
/// suggested for the other reasons only.
async fn vectors(engine: &MemoryEngine, words: Vec<String>) -> Vec<(String, Embedding)> {
    let embedder = engine.settings().embedder();
    if embedder.semantic_weight() < MIN_SEMANTIC_WEIGHT {
        return Vec::new();
    }
    let mut vectors = Vec::with_capacity(words.len());
    for part in words.chunks(embedder.max_batch().max(1)) {
        let texts: Vec<&str> = part.iter().map(String::as_str).collect();
        match embedder.embed(&texts, Purpose::Document).await {
            Ok(found) => vectors.extend(part.iter().cloned().zip(found)),
            Err(e) => {
                report_line!("words were not compared by their vectors: {e}");
                return Vec::new();
            }
        }
    }
    vectors
}
