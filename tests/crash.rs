//! Kill -9 in each job of the background, on each backend: what is left of it is done by the next process, and the
//! store ends as one in which nothing happened, with nothing lost and nothing there twice.
//!
//! The killed process is this program itself. It works on the same database through the library, with a record store
//! that reports when a job has reached a certain point, and then never returns.
//!
//! Without the variable `DATABASE_URL` the tests on Postgres are listed as ignored; where `CONFORMANCE_REQUIRE` names
//! `postgres`, they fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "crash/place.rs"]
mod place;
#[path = "crash/stopping.rs"]
mod stopping;
#[path = "crash/story.rs"]
mod story;

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use libtest_mimic::{Arguments, Trial};
use memory_engine::Job;
use place::Place;
use stopping::{Point, Stop};

/// The environment variable of a process that is to be killed: its database, and the point of its stop.
const CHILD: &str = "MEMORY_CRASH_CHILD";
/// Longer than a claim lasts.
const LATER: Duration = Duration::from_secs(31);
const RUNNING: Duration = Duration::from_secs(180);

fn main() {
    if let Ok(child) = env::var(CHILD) {
        return run(be_killed(&child));
    }
    libtest_mimic::run(&Arguments::from_args(), trials()).exit();
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work);
}

/// Every job at every point on every backend. A change of embedder is killed in a test of its own, of `memory reindex`.
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
            run(ends_complete(Place::on_sqlite(), Place::on_sqlite(), job, point));
            Ok(())
        }));
        let there = url.clone();
        let ignored = there.is_none() && !required;
        let on_postgres = move || {
            let url = there.ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
            run(ends_complete(Place::on_postgres(&url), Place::on_postgres(&url), job, point));
            Ok(())
        };
        trials.push(Trial::test(name("postgres"), on_postgres).with_ignored_flag(ignored));
    }
    trials
}

/// Kills a process at a point of a job, lets another one continue, and compares the result with that of an
/// undisturbed process.
async fn ends_complete(killed: Place, whole: Place, job: Job, point: Point) {
    let expected = {
        let memory = whole.open(None).await;
        story::write(&memory, job).await;
        memory.drain(&story::lin(), |_| ()).await.unwrap();
        story::held(&memory).await
    };
    story::has_something_of_everything(&expected);

    let memory = killed.open(None).await;
    story::write(&memory, job).await;
    let before = memory.stats(&story::lin()).await.unwrap().backlog[&job];
    drop(memory);
    let address = killed.address();
    tokio::task::spawn_blocking(move || kill_at(&address, job, point)).await.unwrap();

    let memory = killed.open(None).await;
    let left = memory.stats(&story::lin()).await.unwrap().backlog;
    assert!(
        left.get(&job).is_some_and(|left| (1..=before).contains(left)),
        "it was in the middle of {before}: {left:?}"
    );
    killed.clock.advance(LATER);
    memory.drain(&story::lin(), |_| ()).await.unwrap();
    let stats = memory.stats(&story::lin()).await.unwrap();
    assert_eq!((stats.backlog.len(), stats.given_up.len()), (0, 0), "{stats:?}");
    let held = story::held(&memory).await;
    for line in expected.keys().chain(held.keys()) {
        assert_eq!(expected.get(line), held.get(line), "as it was to be, and after the kill: {line}");
    }
    let counts = killed.counts().await;
    assert_eq!(counts, whole.counts().await, "what the tables hold");
    assert!(counts["mentions of entities"] > 10 && counts["vectors"] > 50, "{counts:?}");
    // A repetition finds nothing new.
    memory.admin().requeue_enrichment(&story::lin()).await.unwrap();
    memory.drain(&story::lin(), |_| ()).await.unwrap();
    assert_eq!(story::held(&memory).await, held);
    drop(memory);
    killed.leave().await;
    whole.leave().await;
}

/// Has a process work until it says that it is there, and kills it.
fn kill_at(address: &str, job: Job, point: Point) {
    let child = format!("{job}|{}|{address}", point.as_str());
    let program = env::current_exe().unwrap();
    let mut child = Command::new(program).env(CHILD, child).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    assert_eq!(told.trim(), stopping::REACHED, "{job} {}", point.as_str());
}

/// The process that is killed: it drains the queue until it is stopped.
async fn be_killed(child: &str) {
    let mut parts = child.splitn(3, '|');
    let job = Job::named(parts.next().unwrap()).unwrap();
    let point = Point::named(parts.next().unwrap()).unwrap();
    let memory = Place::at(parts.next().unwrap()).open(Some(Stop::new(job, point))).await;
    let drained = tokio::time::timeout(RUNNING, memory.drain(&story::lin(), |_| ())).await;
    println!("it was not stopped: {drained:?}");
}
