//! `memory synonyms suggest`.

use anyhow::Result;
use clap::Args;
use memory_engine::{
    Embedding, MemoryEngine, Purpose, RecordId, ScanQuery,
    synonyms::{Suggester, Suggestion},
};
use serde_json::json;

use super::Owner;
use crate::output;

const PAGE: usize = 1000;
/// From how much on an embedder's nearness says something about meaning, and not about spelling.
const KNOWS_MEANING: f64 = 0.5;
/// How much of a text is shown as evidence, in characters.
const SHOWN: usize = 50;

/// Propose pairs of words from what is stored, with the evidence; nothing is changed.
#[derive(Debug, Args)]
pub(super) struct Suggest {
    /// How many pairs at the most
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// How many records have to hold both words
    #[arg(long, default_value_t = 3, value_name = "NUMBER")]
    together: u32,
    /// How many records are looked at, the newest first
    #[arg(long, default_value_t = 20_000, value_name = "NUMBER")]
    records: usize,
    #[command(flatten)]
    owner: Owner,
}

impl Suggest {
    pub(super) async fn run(self) -> Result<()> {
        // What may be suggested is looked for within the whole scope; decisions belong to its user or tenant.
        let scope = self.owner.scope.scope()?;
        let engine = self.owner.store.open().await?;
        let texts = self.texts(&engine, &scope).await?;
        let texts: Vec<(RecordId, &str)> = texts.iter().map(|(id, text)| (*id, text.as_str())).collect();
        let mut suggester = Suggester::default().with_limit(self.limit);
        suggester.min_together = self.together.max(1);
        let vectors = vectors(&engine, suggester.words(&texts)).await;
        let known = engine.synonyms().of(&scope).await?;
        let verdicts = engine.synonyms().store().verdicts(&scope.namespace()).await?;
        let found = suggester.suggest(&texts, &vectors, &known, &verdicts);

        let example = |suggestion: &Suggestion| {
            let first = suggestion.evidence.examples.first();
            first.and_then(|id| texts.iter().find(|(known, _)| known == id)).map(|(_, text)| *text).unwrap_or_default()
        };
        if self.owner.json {
            let line = |s: &Suggestion| json!({ "pair": s.pair, "evidence": s.evidence, "example": example(s) });
            say!("{}", serde_json::to_string_pretty(&found.iter().map(line).collect::<Vec<_>>())?);
            return Ok(());
        }
        if found.is_empty() {
            say!("{} records within {scope} suggest no synonyms", texts.len());
            return Ok(());
        }
        let mut table = output::table(["one word", "the other", "together", "association", "nearness", "for example"]);
        for suggestion in &found {
            let evidence = &suggestion.evidence;
            table.add_row([
                suggestion.pair.first().to_owned(),
                suggestion.pair.second().to_owned(),
                evidence.together.to_string(),
                format!("{:.2}", evidence.association),
                evidence.nearness.map(|nearness| format!("{nearness:.2}")).unwrap_or_default(),
                output::shorten(example(suggestion), SHOWN),
            ]);
        }
        say!(
            "{table}\nNothing was changed: `memory synonyms accept ONE OTHER` or `memory synonyms reject ONE OTHER` decides."
        );
        Ok(())
    }

    async fn texts(&self, engine: &MemoryEngine, scope: &memory_engine::Scope) -> Result<Vec<(RecordId, String)>> {
        let (mut texts, mut after) = (Vec::new(), None);
        while texts.len() < self.records {
            let limit = PAGE.min(self.records - texts.len());
            let page = engine.scan(scope, &ScanQuery::newest(limit).with_after(after)).await?;
            let active = page.records.into_iter().filter(|record| record.state == memory_engine::State::Active);
            texts.extend(active.map(|record| (record.id, record.text)));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(texts)
    }
}

/// The vectors of words, where the embedder knows what they mean. Without them there is one sign less.
async fn vectors(engine: &MemoryEngine, words: Vec<String>) -> Vec<(String, Embedding)> {
    let embedder = engine.embedder();
    if embedder.semantic_weight() < KNOWS_MEANING {
        return Vec::new();
    }
    let mut vectors = Vec::with_capacity(words.len());
    for part in words.chunks(embedder.max_batch().max(1)) {
        let texts: Vec<&str> = part.iter().map(String::as_str).collect();
        match embedder.embed(&texts, Purpose::Document).await {
            Ok(found) => vectors.extend(part.iter().cloned().zip(found)),
            Err(e) => {
                eprintln!("words were not compared by their vectors: {e}");
                return Vec::new();
            }
        }
    }
    vectors
}
