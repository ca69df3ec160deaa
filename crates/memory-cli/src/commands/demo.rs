//! `memory demo`.

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{Database, RecallQuery, Scope, context::MemoryBlock};
use serde::Deserialize;

use super::import::Importer;
use crate::{
    args::StoreArgs,
    database::DatabaseArg,
    embedder::{EmbedderArgs, MODEL_HINT},
    output, program,
};

const CONVERSATION: &str = include_str!("../../demo/conversation.jsonl");
const QUESTIONS: &str = include_str!("../../demo/questions.jsonl");
const MAX_SHOWN_HITS: usize = 3;

/// Run a demonstration on a bundled bilingual conversation; needs no setup.
#[derive(Debug, Args)]
pub(crate) struct DemoCommand {
    /// Database for the conversation; default: a temporary file, which is removed at the end
    #[arg(long, value_name = "FILE|URL")]
    db: Option<DatabaseArg>,
}

#[derive(Debug, Deserialize)]
struct DemoQuestion {
    question: String,
    note: String,
}

impl DemoCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let db = self.db.clone().unwrap_or_else(|| DatabaseArg::At(Database::file(folder.path().join("demo.db"))));
        let engine = StoreArgs::new(db, EmbedderArgs::words()).create().await?;
        let lin = Scope::user("lin")?;

        let started = Instant::now();
        let zone = TimeZone::UTC;
        let mut importer = Importer::new(&engine, &lin, &zone);
        importer.import_json_lines(CONVERSATION.as_bytes(), |_, _| {}).await?;
        let report = importer.report;
        ensure!(report.bad_lines == 0, "the bundled conversation is damaged: {:?}", report.errors);
        output::drain(&engine, &lin).await?;
        let took = started.elapsed().as_secs_f64() * 1e3;
        let turns = report.added + report.unchanged;
        print_line!(
            "{} of Lin and Kai, March and April 2026, imported and indexed in {took:.0} ms.\n",
            output::counted(turns, "turn", "turns")
        );

        for line in QUESTIONS.lines() {
            let question: DemoQuestion = serde_json::from_str(line)?;
            let started = Instant::now();
            let recall = engine.recall(&lin, RecallQuery::new(&question.question).with_limit(MAX_SHOWN_HITS)).await?;
            let took = started.elapsed().as_secs_f64() * 1e3;
            print_line!(
                "? {}   ({}; {took:.1} ms)\n{}\n",
                question.question,
                question.note,
                output::hits_table(&recall, &memory_engine_server::local_zone())
            );
        }

        let message = "海鲜过敏";
        let recall = engine.recall(&lin, message).await?;
        let block = MemoryBlock::default().with_max_chars(600).render(recall.relevant().map(|hit| &hit.record));
        let length = output::counted(block.text.chars().count() as u64, "character", "characters");
        print_line!("Memories for the prompt of the message \"{message}\" ({length}):\n");
        print_line!("{}\n", block.text);
        if EmbedderArgs::auto().models.find().is_none() {
            print_line!("{MODEL_HINT}\n");
        }
        self.print_next_steps()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints three commands that work as they are printed.
    fn print_next_steps(&self) -> Result<()> {
        let memory = program::typed_name();
        print_line!("Next steps:");
        match &self.db {
            Some(db) => {
                let db = db.database()?;
                print_line!("  {memory} search \"芝麻是谁？\" --user lin --db {db}");
                print_line!("  {memory} search \"Who moved to Berlin?\" --user lin --explain --db {db}");
                print_line!("  {memory} ui --db {db}");
            }
            None => {
                print_line!("  {memory} add \"I moved to Lisbon. 我对花生过敏\" --user me --digest rules");
                print_line!("  {memory} search \"where do I live?\" --user me");
                print_line!("  {memory} ui");
            }
        }
        Ok(())
    }
}
