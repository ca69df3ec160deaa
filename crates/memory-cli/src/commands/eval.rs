//! `memory eval`.

mod abstention;
mod cases;
mod features;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use comfy_table::Table;
use jiff::tz::TimeZone;
use memory_engine::{Database, MemoryEngine, RecallOptions, Scope, admin};
use serde_json::{Map, Value, json};

use super::import::Importer;
use crate::{
    args::StoreArgs,
    database::DatabaseArg,
    embedder::EmbedderArgs,
    engine_options::EngineOptions,
    metrics::{RECIPROCAL_RANK_DEPTH, RetrievalMetrics},
    modes::Mode,
    output,
    output_file::OutputFile,
    question::{self, EvalQuestion},
    report::ReportArgs,
    reranker::RerankerArgs,
};

/// Measure retrieval on a file of memories and a file of questions.
///
/// Builds a temporary store from the memories, runs every question within its scope, and prints recall@k, hit@k,
/// all@k, nDCG@10 and MRR, for each retriever alone and fused. The gold is used for scoring only.
#[derive(Debug, Args)]
pub(crate) struct EvalCommand {
    /// File of memories: JSON Lines as for `import`, each with an "id"
    #[arg(long, value_name = "FILE")]
    memories: PathBuf,
    /// File of questions, in JSON Lines
    ///
    /// Each with "id", "scope", "question", "gold" or "gold_groups", and optionally "category".
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    #[command(flatten)]
    embedder: EmbedderArgs,
    #[command(flatten)]
    reranker: RerankerArgs,
    /// Database for the memories, a new one; default: a temporary file
    #[arg(long, value_name = "FILE|URL")]
    db: Option<DatabaseArg>,
    /// Values of k for recall@k, hit@k and all@k
    #[arg(long, value_delimiter = ',', default_value = "1,5,10")]
    k: Vec<usize>,
    /// Write the results to this file
    ///
    /// For each question an object with "question_id" and "retrieved", a list of ids.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the ranking features of each candidate to this file
    ///
    /// A JSON object for each question, for `scripts/fit-ranking`.
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Also measure with each part of the recall switched off in turn
    #[arg(long)]
    ablate: bool,
    /// Also measure how often a hit would be injected
    ///
    /// For the questions, and for those of this file, which cannot be answered from their scope.
    #[arg(long, value_name = "FILE")]
    abstention: Option<PathBuf>,
    /// Also run the cases of this file, in JSON Lines
    ///
    /// Each with "id", "scope", "question", "expected" and "forbidden" (the ids of records that must, or must not, be
    /// injected), "exact" (true if no other record may be injected), and optionally "session", "limit" and "time".
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

impl EvalCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        ensure!(
            self.k.iter().all(|k| (1..=RECIPROCAL_RANK_DEPTH).contains(k)),
            "each k must be between 1 and {RECIPROCAL_RANK_DEPTH}"
        );
        let ks: Vec<usize> = self.k.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let questions = question::read(&self.questions)?;
        let unanswerable = self.abstention.as_deref().map(question::read_unanswerable).transpose()?;
        let cases = self.cases.as_deref().map(cases::read).transpose()?;
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let db = self.db.clone().unwrap_or_else(|| DatabaseArg::At(Database::file(folder.path().join("eval.db"))));
        ensure!(is_new(&db.database()?).await?, "{} exists already; name a new database with --db", db.database()?);
        // The importance of a record is a decision of its owner, not a property of the ranking that is measured.
        let recall = Some(RecallOptions::default().with_importance_weight(0.0));
        let options = EngineOptions { reranker: self.reranker.reranker.clone(), recall, ..EngineOptions::default() };
        let engine = StoreArgs::new(db, self.embedder.clone()).create_with(options).await?;
        let memories = build(&engine, &self.memories).await?;
        let mut report = Map::new();
        report.insert("memories".into(), json!(memories));
        report.insert("embedder".into(), json!(engine.settings().embedder().space().model));
        let (table, categories) = self.measure_modes(&engine, &questions, &ks, &mut report).await?;
        if let Some(path) = &self.features {
            features::write(&engine, questions.iter().chain(unanswerable.iter().flatten()), path).await?;
        }
        if let Some(unanswerable) = &unanswerable {
            report.insert("abstention".into(), abstention::measure(&engine, &questions, unanswerable).await?);
        }
        if let Some(cases) = &cases {
            report.insert("cases".into(), cases::run(&engine, cases).await?);
        }
        report.insert("by_category".into(), Value::Object(categories.clone()));
        self.report.print(&report, || {
            let ks = ks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" / ");
            let mut text = format!(
                "{}, {}, k = {ks}\n{table}",
                output::counted(memories, "memory", "memories"),
                output::counted(questions.len() as u64, "question", "questions")
            );
            text += &category_table(&categories);
            if let Some(measured) = report.get("abstention") {
                text += &format!("\n{}", abstention::table(measured));
            }
            if let Some(result) = report.get("cases") {
                text += &format!("\n{}", cases::table(result));
            }
            text
        })
    }

    /// Asks the questions in each mode, and adds the metrics to the report. Returns a table of the metrics, and the
    /// metrics of the default mode by category.
    async fn measure_modes(
        &self,
        engine: &MemoryEngine,
        questions: &[EvalQuestion],
        ks: &[usize],
        report: &mut Map<String, Value>,
    ) -> Result<(Table, Map<String, Value>)> {
        let mut table = output::table(["retriever", "recall@k", "hit@k", "all@k", "nDCG@10", "MRR", "p50 ms"]);
        let mut categories = Map::new();
        let has_reranker = engine.settings().reranker().is_some();
        let default = if has_reranker { "fused + rerank" } else { "fused" };
        for mode in Mode::all(has_reranker, self.ablate) {
            let name = mode.name;
            let results = ask(engine, questions, mode).await?;
            let scored = score(&results, questions, ks);
            let overall = RetrievalMetrics::mean(scored.iter().map(|(_, metrics)| metrics));
            table.add_row(row(name, &overall, results.p50_ms));
            report.insert(name.into(), json!({ "overall": overall, "p50_ms": results.p50_ms }));
            if name == default {
                categories = by_category(&scored);
                if let Some(out) = &self.out {
                    results.write(out)?;
                }
            }
        }
        Ok((table, categories))
    }
}

async fn build(engine: &MemoryEngine, path: &Path) -> Result<u64> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let bar = output::progress(file.metadata()?.len(), "importing {wide_bar} {bytes}/{total_bytes} {eta}");
    let scope = Scope::tenant_wide(Scope::DEFAULT_TENANT)?;
    let zone = TimeZone::UTC;
    let mut importer = Importer::new(engine, &scope, &zone);
    importer.import_json_lines(BufReader::new(file), |_, bytes| bar.inc(bytes)).await?;
    bar.finish_and_clear();
    let report = importer.report;
    if let Some(error) = report.errors.first() {
        let bad_lines = output::counted(report.bad_lines, "bad line", "bad lines");
        bail!("{}: {error} ({bad_lines})", path.display());
    }
    output::drain(engine, &scope).await?;
    Ok(report.added)
}

/// The results of one mode.
struct ModeResults {
    /// The id of each question with the ids of its hits.
    retrieved: Vec<(String, Vec<String>)>,
    p50_ms: f64,
}

impl ModeResults {
    fn write(&self, path: &Path) -> Result<()> {
        let mut out = OutputFile::create(path)?;
        for (id, retrieved) in &self.retrieved {
            out.write_line(json!({ "question_id": id, "retrieved": retrieved }))?;
        }
        out.finish()
    }
}

async fn ask(engine: &MemoryEngine, questions: &[EvalQuestion], mode: Mode) -> Result<ModeResults> {
    let bar = output::progress(questions.len() as u64, "{msg} {wide_bar} {pos}/{len} questions {eta}")
        .with_message(mode.name);
    let mut retrieved = Vec::with_capacity(questions.len());
    let mut times = Vec::with_capacity(questions.len());
    for question in questions {
        let scope = Scope::user(&question.scope)?;
        let started = std::time::Instant::now();
        let query = question.query()?.with_limit(RECIPROCAL_RANK_DEPTH).with_retrievers(mode.retrievers);
        let query = query.with_options(mode.options(engine.settings().recall_options()));
        let recall = engine.recall(&scope, query).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        ensure!(recall.degraded.is_empty(), "the recall was degraded: {:?}", recall.degraded);
        let name = |hit: &memory_engine::RecallHit| question::data_set_id(&hit.record);
        retrieved.push((question.id.clone(), recall.hits.iter().map(name).collect()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    times.sort_by(f64::total_cmp);
    Ok(ModeResults { retrieved, p50_ms: times.get(times.len() / 2).copied().unwrap_or_default() })
}

fn score<'a>(results: &ModeResults, questions: &'a [EvalQuestion], ks: &[usize]) -> Vec<(&'a str, RetrievalMetrics)> {
    let pairs = questions.iter().zip(&results.retrieved);
    pairs.map(|(q, (_, retrieved))| (q.category.as_str(), RetrievalMetrics::of(retrieved, &q.groups(), ks))).collect()
}

fn by_category(scored: &[(&str, RetrievalMetrics)]) -> Map<String, Value> {
    let mut groups: BTreeMap<&str, Vec<&RetrievalMetrics>> = BTreeMap::new();
    for (category, metrics) in scored {
        groups.entry(category).or_default().push(metrics);
    }
    groups
        .into_iter()
        .map(|(category, metrics)| (category.to_owned(), json!(RetrievalMetrics::mean(metrics))))
        .collect()
}

async fn is_new(database: &Database) -> Result<bool> {
    match database.path() {
        Some(path) => Ok(!path.exists()),
        None => Ok(admin::namespaces(database).await.with_context(|| database.to_string())?.is_empty()),
    }
}

fn row(name: &str, metrics: &RetrievalMetrics, p50_ms: f64) -> [String; 7] {
    let each =
        |values: &BTreeMap<usize, f64>| values.values().map(|v| output::ratio(*v)).collect::<Vec<_>>().join(" / ");
    [
        name.to_owned(),
        each(&metrics.recall),
        each(&metrics.hit),
        each(&metrics.all),
        output::ratio(metrics.ndcg_10),
        output::ratio(metrics.mrr),
        format!("{p50_ms:.2}"),
    ]
}

/// Returns the metrics by category on lines of their own; nothing if there is one category only.
fn category_table(categories: &Map<String, Value>) -> String {
    if categories.len() < 2 {
        return String::new();
    }
    let mut table = output::table(["the default, by category", "questions", "recall@k", "all@k", "nDCG@10", "MRR"]);
    for (category, metrics) in categories {
        let each = |key: &str| {
            let values = metrics.get(key).and_then(Value::as_object).into_iter().flatten();
            let mut values: Vec<(usize, f64)> =
                values.filter_map(|(k, v)| Some((k.parse().ok()?, v.as_f64()?))).collect();
            values.sort_by_key(|(k, _)| *k);
            values.into_iter().map(|(_, v)| output::ratio(v)).collect::<Vec<_>>().join(" / ")
        };
        let one = |key: &str| metrics.get(key).and_then(Value::as_f64).map(output::ratio).unwrap_or_default();
        let questions = metrics.get("questions").map(ToString::to_string).unwrap_or_default();
        table.add_row([category.clone(), questions, each("recall"), each("all"), one("ndcg_10"), one("mrr")]);
    }
    format!("\n{table}")
}
