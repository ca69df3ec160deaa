//! Histories in a child process that is killed, or that cannot write any more.

use std::{
    env,
    io::{BufRead, BufReader, Write as _},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use memory_engine::{ErrorKind, sqlite::Synchronous};

use crate::{
    count::Count,
    handle::{self, Handle, RetractionIds, SharedClock, outcome},
    model::{Model, is_between},
    operation::Operation,
    random::Random,
};

/// The environment variable of the child process: the seed, and the database.
const CHILD: &str = "MEMORY_SIMULATION_CHILD";
/// Maximum number of operations in a child.
const OPERATIONS: u64 = 40;
/// Line of the child for an operation that failed because it could not write.
const FAILED: &str = "failed";
/// Numbers of the signals of a kill and of a file that is too large.
const SIGKILL: i32 = 9;
const SIGXFSZ: i32 = 25;
/// Number of bytes in a block of `ulimit -f`.
const BLOCK_BYTES: u64 = 512;
const HOUR_MICROS: i64 = 3_600_000_000;

/// Runs the child if this process is one, and returns true.
pub(crate) fn run_if_child() -> bool {
    let Ok(child) = env::var(CHILD) else { return false };
    let (seed, path) = child.split_once('|').unwrap();
    handle::run(run_child(seed.parse().unwrap(), Path::new(path)));
    true
}

/// The operations of a child, with the model before each of them.
struct Plan {
    random: Random,
    model: Model,
}

impl Plan {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed, 2), model: Model::default() }
    }

    fn next(&mut self) -> Operation {
        Operation::random(&mut self.random, &self.model)
    }
}

fn report(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Runs operations, and prints a line for each that is acknowledged. Stops at the first that cannot be written.
async fn run_child(seed: u64, path: &Path) {
    let mut plan = Plan::new(seed);
    let clock = SharedClock::default();
    clock.set(plan.model.now());
    let mut retractions = RetractionIds::new();
    let mut handle = match Handle::open(path, &clock, Synchronous::Full).await {
        Ok(handle) => handle,
        Err(error) => return report(&format!("{FAILED} to open: {error}")),
    };
    for _ in 0..OPERATIONS {
        let operation = plan.next();
        let before = plan.model.clone();
        let next_retraction = plan.model.next_retraction();
        let expected = plan.model.apply(&operation);
        if matches!(operation, Operation::Reopen) {
            handle.close().await;
            handle = match Handle::open(path, &clock, Synchronous::Full).await {
                Ok(handle) => handle,
                Err(error) => return report(&format!("{FAILED} to open: {error}")),
            };
        } else if let Operation::SetClock { now } = operation {
            clock.set(now);
        } else {
            let result = handle.run(&operation, next_retraction, &mut retractions).await;
            if let Err(error) = &result
                && !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
            {
                let observed = handle.observe(&plan.model).await.unwrap();
                let is_valid = is_between(&observed, &before, &plan.model, operation.is_atomic());
                assert!(is_valid, "{error}: {observed:?}");
                return report(&format!("{FAILED}: {error}"));
            }
            let text = format!("{result:?}");
            assert_eq!(outcome(result), expected, "{operation:?}: {text}");
        }
        report("done");
    }
}

/// Kills a child at a random moment.
pub(crate) fn test_kill(seed: u64, path: &Path) {
    let mut random = Random::new(seed, 3);
    let operations = random.below(OPERATIONS);
    let pause = Duration::from_micros(random.below(4000));
    let mut child = spawn(Command::new(env::current_exe().unwrap()), seed, path);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = Vec::new();
    for _ in 0..operations {
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            break;
        }
        lines.push(line);
    }
    std::thread::park_timeout(pause);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    lines.extend(output.lines().map_while(Result::ok));
    assert!(status.success() || status.signal() == Some(SIGKILL), "the child failed: {status}, {lines:?}");
    if !status.success() {
        Count::Kills.add();
    }
    check_after_crash(seed, path, &lines);
}

/// Runs a child whose files cannot grow beyond a limit: each write beyond it kills the child, or fails.
pub(crate) fn test_small_files(seed: u64, path: &Path) {
    let mut random = Random::new(seed, 4);
    let size = std::fs::metadata(path).unwrap().len() / BLOCK_BYTES;
    let limit = size * random.below(130) / 100;
    let ignore = if random.chance(70) { "trap '' XFSZ; " } else { "" };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{ignore}ulimit -f {limit}; exec \"$0\"")).arg(env::current_exe().unwrap());
    let child = spawn(command, seed, path);
    let output = child.wait_with_output().unwrap();
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    let status = output.status;
    assert!(status.success() || status.signal() == Some(SIGXFSZ), "the child failed: {status}, {lines:?}");
    if !status.success() || lines.last().is_some_and(|line| line.starts_with(FAILED)) {
        Count::FailedWrites.add();
    }
    check_after_crash(seed, path, &lines);
}

fn spawn(mut command: Command, seed: u64, path: &Path) -> Child {
    let child = format!("{seed}|{}", path.display());
    command.env(CHILD, child).stdout(Stdio::piped()).spawn().unwrap()
}

/// Checks the database after a child has ended: it has every operation that was acknowledged, and at most one more.
fn check_after_crash(seed: u64, path: &Path, lines: &[String]) {
    let acknowledged = lines.iter().filter(|line| line.trim() == "done").count();
    Count::Operations.add_many(acknowledged as u64);
    let mut plan = Plan::new(seed);
    let mut trace = Vec::new();
    for _ in 0..acknowledged {
        let operation = plan.next();
        let _ = plan.model.apply(&operation);
        trace.push(format!("{operation:?}"));
    }
    let before = plan.model.clone();
    let operation = plan.next();
    let _ = plan.model.apply(&operation);
    let clock = SharedClock::default();
    clock.set(plan.model.now() + HOUR_MICROS);
    handle::run(async {
        let handle = Handle::open(path, &clock, Synchronous::Full).await.unwrap();
        let observed = handle.observe(&plan.model).await.unwrap();
        let is_valid = is_between(&observed, &before, &plan.model, operation.is_atomic());
        assert!(is_valid, "{observed:#?} after {trace:#?} and perhaps {operation:?}; lines: {:?}", lines.last());
        let after = if observed.documents == before.observed().documents { before } else { plan.model };
        handle.check_indexes(&after).await;
        handle.close().await;
    });
}
