//! Kills a process (SIGKILL) in each background job, on each backend. The next process does the rest of the job, and
//! the store ends like an undisturbed one: nothing is lost, and nothing is stored twice.
//!
//! The killed process is this program itself. It works on the same database through the library, with a record store
//! that reports when a job has reached a certain point, and then never returns.
//!
//! Without the variable `DATABASE_URL` the tests on Postgres are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "crash/stopping.rs"]
mod stopping;
#[path = "crash/story.rs"]
mod story;
#[path = "crash/test_database.rs"]
mod test_database;

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use libtest_mimic::{Arguments, Trial};
use memory_engine::Job;
use stopping::{Point, Stop};
use test_database::TestDatabase;

/// The environment variable of the child process that gets killed: its database, and the point at which it stops.
const CHILD: &str = "MEMORY_CRASH_CHILD";
/// Longer than the lease of a claim.
const AFTER_LEASE: Duration = Duration::from_secs(31);
const CHILD_TIMEOUT: Duration = Duration::from_secs(180);

fn main() {
    if let Ok(child) = env::var(CHILD) {
        return run(run_child(&child));
    }
    libtest_mimic::run(&Arguments::from_args(), trials()).exit();
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work);
}

/// Returns a test for every job, point and backend. The test of `memory reindex` kills a change of embedder.
fn trials() -> Vec<Trial> {
    let url = env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let required = env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name.trim() == "postgres");
    let mut trials = Vec::new();
    for (job, point) in
        Job::ALL.into_iter().filter(|job| *job != Job::Reembedding).flat_map(|job| Point::ALL.map(|point| (job, point)))
    {
        let name = |backend: &str| format!("{backend}::{job}_killed_{}", point.as_str());
        trials.push(Trial::test(name("sqlite"), move || {
            run(test_kill(TestDatabase::on_sqlite(), TestDatabase::on_sqlite(), job, point));
            Ok(())
        }));
        let there = url.clone();
        let ignored = there.is_none() && !required;
        let on_postgres = move || {
            let url = there.ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
            run(test_kill(TestDatabase::on_postgres(&url), TestDatabase::on_postgres(&url), job, point));
            Ok(())
        };
        trials.push(Trial::test(name("postgres"), on_postgres).with_ignored_flag(ignored));
    }
    trials
}

/// Kills a process at a point of a job, lets another one continue, and compares the result with that of an
/// undisturbed process.
async fn test_kill(killed: TestDatabase, undisturbed: TestDatabase, job: Job, point: Point) {
    let expected = {
        let memory = undisturbed.open(None).await;
        story::write(&memory, job).await;
        memory.drain(&story::lin(), |_| ()).await.unwrap();
        story::stored_lines(&memory).await
    };
    story::assert_all_kinds(&expected);

    let memory = killed.open(None).await;
    story::write(&memory, job).await;
    let before = memory.stats(&story::lin()).await.unwrap().queued[&job];
    drop(memory);
    let address = killed.address();
    tokio::task::spawn_blocking(move || kill_at(&address, job, point)).await.unwrap();

    let memory = killed.open(None).await;
    let remaining = memory.stats(&story::lin()).await.unwrap().queued;
    assert!(
        remaining.get(&job).is_some_and(|count| (1..=before).contains(count)),
        "the kill was not in the middle of {before} items: {remaining:?}"
    );
    killed.clock.advance(AFTER_LEASE);
    memory.drain(&story::lin(), |_| ()).await.unwrap();
    let stats = memory.stats(&story::lin()).await.unwrap();
    assert_eq!((stats.queued.len(), stats.dead_letters.len()), (0, 0), "{stats:?}");
    let stored = story::stored_lines(&memory).await;
    for line in expected.keys().chain(stored.keys()) {
        assert_eq!(expected.get(line), stored.get(line), "undisturbed, and after the kill: {line}");
    }
    let counts = killed.counts().await;
    assert_eq!(counts, undisturbed.counts().await, "rows of the tables");
    assert!(counts["mentions of entities"] > 10 && counts["vectors"] > 50, "{counts:?}");
    // A repetition finds nothing new.
    memory.admin().requeue_enrichment(&story::lin()).await.unwrap();
    memory.drain(&story::lin(), |_| ()).await.unwrap();
    assert_eq!(story::stored_lines(&memory).await, stored);
    drop(memory);
    killed.remove().await;
    undisturbed.remove().await;
}

/// Starts a child process, waits until it has reached the point, and kills it.
fn kill_at(address: &str, job: Job, point: Point) {
    let child = format!("{job}|{}|{address}", point.as_str());
    let program = env::current_exe().unwrap();
    let mut child = Command::new(program).env(CHILD, child).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    assert_eq!(line.trim(), stopping::REACHED, "{job} {}", point.as_str());
}

/// Runs in the child process: drains the queue until it blocks at the point.
async fn run_child(child: &str) {
    let mut parts = child.splitn(3, '|');
    let job = Job::named(parts.next().unwrap()).unwrap();
    let point = Point::named(parts.next().unwrap()).unwrap();
    let memory = TestDatabase::at(parts.next().unwrap()).open(Some(Stop::new(job, point))).await;
    let drained = tokio::time::timeout(CHILD_TIMEOUT, memory.drain(&story::lin(), |_| ())).await;
    println!("the point was not reached: {drained:?}");
}
