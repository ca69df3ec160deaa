//! Measures the engine beside others: one phase of the peer benchmark in a process of its own.
//!
//! Defaults only and the public interface only. The texts go in as they are, and the engine cuts them into words
//! itself; the vectors are given, as they are to every peer. Each phase writes one JSON of numbers.

mod data;
mod ingest;
mod insert;
mod query;
mod report;
mod store;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use data::Data;
use memory_engine_benches::process;
use report::Report;

/// Runs one phase of the peer benchmark and writes what it measured as JSON.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with records.jsonl, the vectors and the queries
    #[arg(long)]
    data: PathBuf,
    /// Number of records
    #[arg(long)]
    n: usize,
    /// Of how many dimensions
    #[arg(long)]
    dim: usize,
    /// The file to make or to open; with Postgres, nothing
    #[arg(long)]
    store: PathBuf,
    /// The phase to run
    #[arg(long)]
    phase: Phase,
    /// Maximum time for one kind of query, in seconds
    #[arg(long, default_value_t = 12.0)]
    metric_cap_s: f64,
    /// File for the results
    #[arg(long)]
    json: PathBuf,
    /// The store
    #[arg(long, default_value = "sqlite")]
    backend: Backend,
    /// The Postgres database: empty before the phase `ingest`
    #[arg(long, env = "PEERS_PG_DSN", hide_env_values = true)]
    dsn: Option<String>,
    /// Number of hits of a query
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// Only this kind of query: for looking into it
    #[arg(long)]
    only: Option<String>,
    /// Ask the questions of each kind this many times: for profilers
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Number of candidates of each retriever in a hybrid query
    #[arg(long, default_value_t = 50)]
    pool: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// Make the store
    #[value(name = "ingest")]
    Ingest,
    /// Open it and ask
    #[value(name = "query")]
    Query,
    /// Open it, ask, and then insert one record after the other
    #[value(name = "query+insert")]
    QueryAndInsert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    Sqlite,
    Postgres,
}

#[tokio::main]
async fn main() -> Result<()> {
    // Runs as a task, like the requests of a server: work that waits in `main` itself is woken by another thread each
    // time.
    tokio::spawn(run(Arguments::parse())).await?
}

async fn run(arguments: Arguments) -> Result<()> {
    let data = Data::open(&arguments.data, arguments.n, arguments.dim)?;
    let mut report = Report::new(arguments.backend);
    process::reset_peak();
    report.number("rss_import_mb", process::peak_mb());
    match arguments.phase {
        Phase::Ingest => ingest::run(&arguments, &data, &mut report).await?,
        Phase::Query | Phase::QueryAndInsert => {
            let (engine, embedder) = query::run(&arguments, &data, &mut report).await?;
            if arguments.phase == Phase::QueryAndInsert {
                insert::run(&arguments, &data, &engine, &embedder, &mut report).await?;
            }
        }
    }
    report.write(&arguments.json)
}
