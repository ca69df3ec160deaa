//! Measures queries.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use memory_engine::{
    Field, Filter, MemoryEngine, Op, RecallOptions, RecallQuery, Scope,
    recall::{Method, RankingMethod, Retrievers},
};
use memory_engine_benches::{given::GivenEmbedder, process};

use crate::{
    Arguments, Backend,
    data::{Data, Question},
    report::Report,
    store,
};

/// The restriction of a query by scope or time.
#[derive(Debug, Clone, Copy)]
enum Restriction {
    All,
    Org,
    Scope,
    Time,
    ScopeAndTime,
}

/// The retrievers of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryMode {
    Vectors,
    Keywords,
    /// Both lists, fused by reciprocal ranks, as in the other benchmarked engines.
    Both,
    /// With all defaults of a recall.
    Recall,
}

/// A kind of query.
#[derive(Debug, Clone, Copy)]
struct QueryKind {
    name: &'static str,
    mode: QueryMode,
    restriction: Restriction,
    /// The name of the file of the nearest vectors, for a vector search that is compared with them.
    exact: Option<&'static str>,
}

const fn kind(name: &'static str, mode: QueryMode, restriction: Restriction, exact: Option<&'static str>) -> QueryKind {
    QueryKind { name, mode, restriction, exact }
}

const KINDS: [QueryKind; 12] = [
    kind("vec_all", QueryMode::Vectors, Restriction::All, Some("all")),
    kind("vec_org", QueryMode::Vectors, Restriction::Org, Some("all")),
    kind("vec_scope", QueryMode::Vectors, Restriction::Scope, Some("scope")),
    kind("vec_time", QueryMode::Vectors, Restriction::Time, Some("time")),
    kind("kw_all", QueryMode::Keywords, Restriction::All, None),
    kind("kw_scope", QueryMode::Keywords, Restriction::Scope, None),
    kind("hyb_all", QueryMode::Both, Restriction::All, None),
    kind("hyb_scope", QueryMode::Both, Restriction::Scope, None),
    kind("vec_scope_time", QueryMode::Vectors, Restriction::ScopeAndTime, None),
    kind("hyb_time", QueryMode::Both, Restriction::Time, None),
    kind("recall_all", QueryMode::Recall, Restriction::All, None),
    kind("recall_scope", QueryMode::Recall, Restriction::Scope, None),
];

/// Number of queries before the measurement.
const WARM_UP_QUERIES: usize = 3;
/// Maximum number of attempts for a query with a partial answer.
const MAX_ATTEMPTS: usize = 30;
/// Minimum number of queries, even if they are slow.
const MIN_QUERIES: usize = 10;

pub(crate) async fn run(
    arguments: &Arguments,
    data: &Data,
    report: &mut Report,
) -> Result<(MemoryEngine, Arc<GivenEmbedder>)> {
    let embedder = GivenEmbedder::new(arguments.dim);
    let mut questions = Vec::new();
    for (question, vector) in data.questions()? {
        embedder.learn(&question.text, vector)?;
        questions.push(question);
    }
    let started = Instant::now();
    let engine = store::open(arguments, &embedder).await?;
    if let Some(first) = questions.first() {
        ask_until_complete(&engine, arguments, KINDS[0], first).await?;
    }
    report.number("open_ms", started.elapsed().as_secs_f64() * 1e3);
    let is_wanted = |kind: &QueryKind| arguments.only.as_ref().is_none_or(|only| only == kind.name);
    for kind in KINDS.into_iter().filter(is_wanted) {
        if let Err(error) = measure(&engine, arguments, data, &questions, kind, report).await {
            report.error(kind.name, &format_args!("{error:#}"));
        }
    }
    report.number("rss_query_mb", process::peak_mb());
    Ok((engine, embedder))
}

async fn measure(
    engine: &MemoryEngine,
    arguments: &Arguments,
    data: &Data,
    questions: &[Question],
    kind: QueryKind,
    report: &mut Report,
) -> Result<()> {
    let name = kind.name;
    let phase_start = Instant::now();
    let is_over = || phase_start.elapsed().as_secs_f64() > arguments.metric_cap_s;
    for question in questions.iter().skip(questions.len().saturating_sub(WARM_UP_QUERIES)) {
        ask_until_complete(engine, arguments, kind, question).await?;
        if is_over() {
            break;
        }
    }
    let mut times = Vec::new();
    let mut results = Vec::new();
    let cpu_start = process::cpu_s();
    for question in questions.iter().cycle().take(questions.len() * arguments.repeat) {
        let started = Instant::now();
        let hits = ask(engine, arguments, kind, question).await?;
        times.push(started.elapsed().as_secs_f64());
        results.push(hits);
        if times.len() >= MIN_QUERIES && is_over() {
            break;
        }
    }
    let cpu_s = process::cpu_s() - cpu_start;
    ensure!(!times.is_empty(), "there are no queries");
    let query_count = times.len() as f64;
    report.times(name, &times);
    report.number(format!("{name}_queries"), query_count);
    if arguments.backend == Backend::Sqlite {
        // The CPU time of a database server would be missing.
        report.number(format!("{name}_cpu_ms"), cpu_s / query_count * 1e3);
    }
    let has_target = |(hits, question): &(&Vec<usize>, &Question)| hits.contains(&question.target);
    let target_count = results.iter().zip(questions.iter().cycle()).filter(has_target).count();
    report.number(format!("{name}_hit10"), target_count as f64 / query_count);
    if let Some(file) = kind.exact {
        let recall = |(hits, nearest): (&Vec<usize>, &Vec<usize>)| {
            nearest.iter().filter(|id| hits.contains(id)).count() as f64 / nearest.len().max(1) as f64
        };
        let sum: f64 = results.iter().zip(data.nearest(file)?.iter().cycle()).map(recall).sum();
        report.number(format!("{name}_recall10"), sum / query_count);
    }
    Ok(())
}

/// Asks again after an error or a degraded answer, at most [`MAX_ATTEMPTS`] times: an index that is read for the first
/// recall may not be ready before its deadline. The caller counts the whole time.
async fn ask_until_complete(
    engine: &MemoryEngine,
    arguments: &Arguments,
    kind: QueryKind,
    question: &Question,
) -> Result<Vec<usize>> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match ask(engine, arguments, kind, question).await {
            Err(_) if attempts < MAX_ATTEMPTS => {}
            answer => return answer,
        }
    }
}

/// Runs one query. Returns the numbers of the records of its hits, which include scores and texts.
async fn ask(engine: &MemoryEngine, arguments: &Arguments, kind: QueryKind, question: &Question) -> Result<Vec<usize>> {
    let scope = match kind.restriction {
        Restriction::All | Restriction::Time => store::everything()?,
        Restriction::Org => store::everything()?.with_agent(question.org.as_str())?,
        Restriction::Scope | Restriction::ScopeAndTime => Scope::user(question.scope.as_str())?,
    };
    let query = RecallQuery::new(question.text.as_str()).with_limit(arguments.k).with_retrievers(match kind.mode {
        QueryMode::Vectors => Retrievers::VectorOnly,
        QueryMode::Keywords => Retrievers::KeywordOnly,
        QueryMode::Both | QueryMode::Recall => Retrievers::All,
    });
    let query = match kind.restriction {
        Restriction::All | Restriction::Org | Restriction::Scope => query,
        Restriction::Time | Restriction::ScopeAndTime => query
            .since(store::seconds(question.t_from))
            .with_filter(Filter::compare(Field::OccurredAt, Op::Le, store::seconds(question.t_to))),
    };
    let query = match kind.mode {
        QueryMode::Recall => query,
        QueryMode::Vectors | QueryMode::Keywords => query.with_options(benchmark_options(arguments, arguments.k)),
        QueryMode::Both => query.with_options(benchmark_options(arguments, arguments.pool)),
    };
    let recall = engine.recall(&scope, query).await?;
    ensure!(recall.degraded.is_empty(), "a recall was degraded: {:?}", recall.degraded);
    let number = |hit: &memory_engine::RecallHit| hit.record.source.message_id.as_ref()?.parse().ok();
    Ok(recall.hits.iter().filter_map(number).collect())
}

/// Returns the options that the benchmark uses for every engine: one ranking, or both with `max_candidates` each, fused
/// by reciprocal ranks with k = 60, without the ranking by features that a recall does by default.
fn benchmark_options(arguments: &Arguments, max_candidates: usize) -> RecallOptions {
    let mut options = RecallOptions::default().with_limit(arguments.k);
    options.max_candidates = max_candidates;
    options.fusion = Method::Ranks { k: 60.0 };
    options.ranking = RankingMethod::Fusion;
    options.vector_weight = 0.5;
    options
}
