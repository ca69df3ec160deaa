//! Asking.

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
enum Part {
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
    Words,
    /// Both lists, fused by reciprocal ranks: what every peer does.
    Both,
    /// As a user of the engine asks, with all that a recall does by default.
    Recall,
}

/// A kind of query: its name, how, of what, and the file of the exact answer.
type Sort = (&'static str, QueryMode, Part, Option<&'static str>);

const SORTS: [Sort; 12] = [
    ("vec_all", QueryMode::Vectors, Part::All, Some("all")),
    ("vec_org", QueryMode::Vectors, Part::Org, Some("all")),
    ("vec_scope", QueryMode::Vectors, Part::Scope, Some("scope")),
    ("vec_time", QueryMode::Vectors, Part::Time, Some("time")),
    ("kw_all", QueryMode::Words, Part::All, None),
    ("kw_scope", QueryMode::Words, Part::Scope, None),
    ("hyb_all", QueryMode::Both, Part::All, None),
    ("hyb_scope", QueryMode::Both, Part::Scope, None),
    ("vec_scope_time", QueryMode::Vectors, Part::ScopeAndTime, None),
    ("hyb_time", QueryMode::Both, Part::Time, None),
    ("recall_all", QueryMode::Recall, Part::All, None),
    ("recall_scope", QueryMode::Recall, Part::Scope, None),
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
        ask_until_whole(&engine, arguments, SORTS[0], first).await?;
    }
    report.number("open_ms", started.elapsed().as_secs_f64() * 1e3);
    for sort in SORTS.into_iter().filter(|(name, ..)| arguments.only.as_ref().is_none_or(|only| only == name)) {
        if let Err(error) = measure(&engine, arguments, data, &questions, sort, report).await {
            report.error(sort.0, &format_args!("{error:#}"));
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
    sort: Sort,
    report: &mut Report,
) -> Result<()> {
    let (name, _, _, nearest) = sort;
    let begun = Instant::now();
    let late = |enough: bool| enough && begun.elapsed().as_secs_f64() > arguments.metric_cap_s;
    for question in questions.iter().skip(questions.len().saturating_sub(WARM_UP_QUERIES)) {
        ask_until_whole(engine, arguments, sort, question).await?;
        if late(true) {
            break;
        }
    }
    let (mut times, mut given, computed) = (Vec::new(), Vec::new(), process::cpu_s());
    for question in questions.iter().cycle().take(questions.len() * arguments.repeat) {
        let started = Instant::now();
        let found = ask(engine, arguments, sort, question).await?;
        times.push(started.elapsed().as_secs_f64());
        given.push(found);
        if late(times.len() >= MIN_QUERIES) {
            break;
        }
    }
    let computed = process::cpu_s() - computed;
    let asked = times.len() as f64;
    report.times(name, &times);
    report.number(format!("{name}_queries"), asked);
    if arguments.backend == Backend::Sqlite {
        // Of a server's work nothing would be in it.
        report.number(format!("{name}_cpu_ms"), computed / asked * 1e3);
    }
    let hit =
        given.iter().zip(questions.iter().cycle()).filter(|(found, question)| found.contains(&question.target)).count();
    report.number(format!("{name}_hit10"), hit as f64 / asked);
    if let Some(mode) = nearest {
        let part = |(found, nearest): (&Vec<usize>, &Vec<usize>)| {
            nearest.iter().filter(|id| found.contains(id)).count() as f64 / nearest.len().max(1) as f64
        };
        let sum: f64 = given.iter().zip(data.nearest(mode)?.iter().cycle()).map(part).sum();
        report.number(format!("{name}_recall10"), sum / asked);
    }
    Ok(())
}

/// Asks again while an answer lacks something: a recall has a deadline, and what is read for the first one goes on
/// being read after it. The time counts in full.
async fn ask_until_whole(
    engine: &MemoryEngine,
    arguments: &Arguments,
    sort: Sort,
    question: &Question,
) -> Result<Vec<usize>> {
    let mut tries = 0;
    loop {
        tries += 1;
        match ask(engine, arguments, sort, question).await {
            Err(_) if tries < MAX_ATTEMPTS => {}
            answer => return answer,
        }
    }
}

/// Asks one question and gives the numbers of the records that it finds; each comes with its score and its text.
async fn ask(engine: &MemoryEngine, arguments: &Arguments, sort: Sort, question: &Question) -> Result<Vec<usize>> {
    let (_, how, part, _) = sort;
    let scope = match part {
        Part::All | Part::Time => store::everything()?,
        Part::Org => store::everything()?.with_agent(question.org.as_str())?,
        Part::Scope | Part::ScopeAndTime => Scope::user(question.scope.as_str())?,
    };
    let query = RecallQuery::new(question.text.as_str()).with_limit(arguments.k).with_retrievers(match how {
        QueryMode::Vectors => Retrievers::VectorOnly,
        QueryMode::Words => Retrievers::KeywordOnly,
        QueryMode::Both | QueryMode::Recall => Retrievers::All,
    });
    let query =
        match part {
            Part::All | Part::Org | Part::Scope => query,
            Part::Time | Part::ScopeAndTime => query
                .since(store::seconds(question.t_from))
                .with_filter(Filter::compare(Field::OccurredAt, Op::Le, store::seconds(question.t_to))),
        };
    let query = match how {
        QueryMode::Recall => query,
        QueryMode::Vectors | QueryMode::Words => query.with_options(plain(arguments, arguments.k)),
        QueryMode::Both => query.with_options(plain(arguments, arguments.pool)),
    };
    let recall = engine.recall(&scope, query).await?;
    ensure!(recall.degraded.is_empty(), "a recall was degraded: {:?}", recall.degraded);
    let number = |hit: &memory_engine::RecallHit| hit.record.source.message_id.as_ref()?.parse().ok();
    Ok(recall.hits.iter().filter_map(number).collect())
}

/// Returns the options that the benchmark uses for every engine: one ranking, or both with this many candidates each,
/// fused by reciprocal ranks with k = 60, without the ranking by features that a recall does by default.
fn plain(arguments: &Arguments, pool: usize) -> RecallOptions {
    let mut options = RecallOptions::default().with_limit(arguments.k);
    (options.max_candidates, options.fusion) = (pool, Method::Ranks { k: 60.0 });
    (options.ranking, options.vector_weight) = (RankingMethod::Fusion, 0.5);
    options
}
