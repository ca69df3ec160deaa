//! Replays the corpus of every fuzz target, and runs a fixed number of deterministic mutations of it. An input must not
//! panic, take too long, or use too much memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::Duration,
};

use memory_engine_fuzz::{
    Target,
    mutation::{Random, mutate},
    target,
};

/// Maximum processor time of one input. A debug build is slower.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });
/// Maximum resident memory of the process, in bytes: 1 GB.
const MAX_MEMORY_BYTES: u64 = 1_000_000_000;
/// The environment variable that replaces the number of executions.
const EXECUTIONS: &str = "MEMORY_FUZZ_EXECUTIONS";
/// The environment variable that replaces the seed.
const SEED: &str = "MEMORY_FUZZ_SEED";

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap())
}

/// Returns the largest resident memory of the process so far; 0 on a system without `/proc`.
fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// Returns the processor time of this thread, on which the targets run. Time of other processes is no part of it.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns the time since the first call: this system does not report the processor time of a thread.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// Runs one input and checks its time. An input that fails is kept as a file, to be added to the corpus.
fn run(target: &Target, input: &[u8], name: &str) {
    let start = thread_time();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let elapsed = thread_time() - start;
    if outcome.is_ok() && elapsed <= MAX_TIME {
        return;
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", target.name));
    fs::write(&path, input).unwrap();
    let fault = if outcome.is_err() { "panics".to_owned() } else { format!("takes {elapsed:?}") };
    panic!("the input {name} of {} {fault}; it is in {}", target.name, path.display());
}

fn smoke(name: &str) {
    let target = target(name).unwrap();
    let corpus = target.corpus();
    assert!(!corpus.is_empty(), "no corpus in {}", target.corpus_folder().display());
    // The first input loads dictionaries and rules.
    let _ = catch_unwind(|| (target.run)(&corpus[0].1));
    for (path, input) in &corpus {
        run(target, input, path.file_name().unwrap().to_str().unwrap());
    }
    let inputs: Vec<Vec<u8>> = corpus.into_iter().map(|(_, input)| input).collect();
    let seed = number_in(SEED).unwrap_or(1);
    for execution in 0..number_in(EXECUTIONS).unwrap_or(target.smoke_executions) {
        let input =
            mutate(&inputs, target.tokens, &mut Random::new(seed.wrapping_mul(1 << 32).wrapping_add(execution)));
        run(target, &input, &format!("seed-{seed}-{execution}"));
    }
    let memory = peak_memory_bytes();
    assert!(memory <= MAX_MEMORY_BYTES, "{name} used {memory} bytes of memory");
}

macro_rules! smoke_tests {
    ($($name:ident)*) => {
        $(#[test] fn $name() { smoke(stringify!($name)); })*

        #[test]
        fn every_target_has_a_smoke_test() {
            let names = memory_engine_fuzz::TARGETS.map(|target| target.name);
            assert_eq!(names.to_vec(), [$(stringify!($name)),*]);
        }
    };
}

smoke_tests!(analyzer dates facts filters imports postings_cache vectors_cache requests mcp sse replies);
