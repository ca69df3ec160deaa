//! A deterministic simulation of the store layer: random operations of several handles on one SQLite file, with
//! injected faults, checked against a plain model.
//!
//! The seed of a history decides everything: the operations, the handles, and the faults. A failure prints the seed.
//!
//! | fault | how it is injected |
//! |---|---|
//! | crash of the process | a child process is killed (SIGKILL) at a random moment |
//! | crash at a write, full disk, short write | a child process has a limit on the size of its files |
//! | power failure: lost or reordered unsynced writes | the log is cut, or a part of it is zeroed, in a copy |
//! | clock jump | the clock of the stores is set to another time, also backwards |
//!
//! Settings, for `scripts/simulate`: `MEMORY_SIMULATE_HISTORIES` is the number of histories (default: 300),
//! `MEMORY_SIMULATE_SEED` the first seed (default: 0).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "simulation/child.rs"]
mod child;
#[path = "simulation/count.rs"]
mod count;
#[path = "simulation/crash_image.rs"]
mod crash_image;
#[path = "simulation/handle.rs"]
mod handle;
#[path = "simulation/history.rs"]
mod history;
#[path = "simulation/model.rs"]
mod model;
#[path = "simulation/operation.rs"]
mod operation;
#[path = "simulation/random.rs"]
mod random;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use count::Count;
use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;

/// Number of trials that share the histories, so that they run at the same time.
const TRIALS: u64 = 4;
/// One of this number of histories runs in a child process that is killed, and one in a child with small files.
const CHILD_INTERVAL: u64 = 20;

fn main() {
    if child::run_if_child() {
        return;
    }
    let number = |name: &str| env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let first = number("MEMORY_SIMULATE_SEED").unwrap_or(0);
    let histories = number("MEMORY_SIMULATE_HISTORIES").unwrap_or(300);
    let trial = |trial: u64| {
        let seeds = (first..first + histories).filter(move |seed| seed % TRIALS == trial);
        Trial::test(format!("sqlite::histories_{trial}"), move || run_all(seeds))
    };
    libtest_mimic::run(&Arguments::from_args(), (0..TRIALS).map(trial).collect()).exit();
}

fn run_all(seeds: impl Iterator<Item = u64>) -> Result<(), libtest_mimic::Failed> {
    let template = handle::template();
    let mut histories = 0;
    for seed in seeds {
        let folder = temporary_folder();
        let path = folder.path().join("memory.db");
        std::fs::write(&path, &template).unwrap();
        let run = || match (seed / TRIALS) % CHILD_INTERVAL {
            0 => child::test_kill(seed, &path),
            10 => child::test_small_files(seed, &path),
            _ => history::run(seed, &path),
        };
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            let command = format!("MEMORY_SIMULATE_SEED={seed} scripts/simulate 1");
            return Err(format!("the history of seed {seed} failed; this repeats it: {command}").into());
        }
        histories += 1;
    }
    let counts = [Count::Operations, Count::PowerFailures, Count::Kills, Count::FailedWrites].map(|c| (c, c.get()));
    println!("{histories} histories: {counts:?}");
    // With this number of histories, every fault is injected at least once.
    let is_injected = counts.iter().all(|(_, count)| *count > 0);
    if histories >= 2 * CHILD_INTERVAL && !is_injected {
        return Err(format!("a fault was never injected: {counts:?}").into());
    }
    Ok(())
}

/// Returns a new folder, in memory if the system has one there. A history cuts its files itself, so it needs no disk.
fn temporary_folder() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}
