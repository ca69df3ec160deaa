//! Runs core operations of the engine on a SQLite file with fixed records, and prints their cost as JSON.
//!
//! `scripts/bench-compare` counts the instructions of each operation with this program. Records, ids, queries, vectors
//! and the clock are the same in every run, background jobs run within the operation that queues them, and no recall
//! reaches its deadline.

mod cost;
mod operation;
mod store;
mod workload;

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use cost::Cost;
use operation::Operation;

/// Runs core operations of the engine and prints their cost as JSON.
#[derive(Debug, Parser)]
struct Arguments {
    /// Operation to run on the store itself. Default: all, each on a copy of the store.
    #[arg(long, value_enum)]
    operation: Option<Operation>,
    /// Number of counted calls, after a fixed number of calls that are not counted. Default: 50, for `open` 10.
    #[arg(long)]
    repeat: Option<usize>,
    /// Folder of the store. It is created and filled if it has no store. Default: a temporary folder.
    #[arg(long)]
    store: Option<PathBuf>,
    /// Fills the store and runs no operation.
    #[arg(long, conflicts_with_all = ["operation", "repeat"])]
    fill: bool,
}

// One thread, so that the scheduler of the runtime adds no instructions of its own.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let temporary = tempfile::tempdir().context("cannot create a temporary folder")?;
    let folder = arguments.store.unwrap_or_else(|| temporary.path().join("store"));
    store::fill_if_missing(&folder).await?;
    if arguments.fill {
        return Ok(());
    }
    let mut costs = BTreeMap::new();
    let repetitions = |operation: Operation| arguments.repeat.unwrap_or_else(|| operation.default_repetitions());
    if let Some(operation) = arguments.operation {
        costs.insert(operation.name(), workload::run(operation, &folder, repetitions(operation)).await?);
    } else {
        for operation in Operation::value_variants() {
            let copy = temporary.path().join(operation.name());
            store::copy(&folder, &copy)?;
            costs.insert(operation.name(), workload::run(*operation, &copy, repetitions(*operation)).await?);
            std::fs::remove_dir_all(&copy)?;
        }
    }
    print_costs(&costs)
}

fn print_costs(costs: &BTreeMap<String, Cost>) -> Result<()> {
    let report = serde_json::json!({ "records": store::RECORDS, "operations": costs });
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
