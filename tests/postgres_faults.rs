//! Postgres under faults: connections that are lost and servers that are killed at every step of a verb, an exhausted
//! pool, and statements that time out.
//!
//! A step is a message that the client sends. Each verb is run with the fault at steps from its first to its last one.
//! Afterwards the verb has had no effect or its whole effect, and can be repeated.
//!
//! The tests use the server of `DATABASE_URL`; `scripts/with-postgres` starts one. Without it they are ignored, or fail
//! if `CONFORMANCE_REQUIRE` names `postgres`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "postgres_faults/audit.rs"]
mod audit;
#[path = "postgres_faults/database.rs"]
mod database;
#[path = "postgres_faults/proxy.rs"]
mod proxy;
#[path = "../crates/postgres/tests/postgres/server.rs"]
#[allow(dead_code, reason = "the tests of the store use more of it")]
mod server;
#[path = "postgres_faults/verb.rs"]
mod verb;

use std::{
    env,
    sync::Mutex,
    time::{Duration, Instant},
};

use database::Database;
use libtest_mimic::{Arguments, Trial};
use memory_engine::{ErrorKind, MemoryEngine, postgres::PostgresOptions};
use proxy::{Fault, Proxy};
use server::Server;
use verb::Verb;

/// Maximum number of steps at which a connection is lost, and at which a server is killed, evenly spaced. With the
/// variable [`EVERY_STEP`] it is every step.
const MAX_CUTS: u32 = 10;
const MAX_KILLS: u32 = 5;
const EVERY_STEP: &str = "MEMORY_FAULTS_AT_EVERY_STEP";
/// Time limits of verbs that wait in vain. Opening the engine must take less, on a busy machine too.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(1);
const STATEMENT_TIMEOUT: Duration = Duration::from_millis(500);

fn main() {
    let url = env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let required = env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name.trim() == "postgres");
    let mut trials = Vec::new();
    let mut push = |name: String, has_programs: bool, test: Box<dyn FnOnce(String) + Send>| {
        let ignored = (url.is_none() && !required) || (has_programs && !server::can_start());
        let url = url.clone();
        let run = move || {
            test(url.ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?);
            Ok(())
        };
        trials.push(Trial::test(name, run).with_ignored_flag(ignored));
    };
    for verb in Verb::ALL {
        for fault in [Fault::CutBefore, Fault::CutAfter] {
            let name = format!("postgres::{}_when_{}", verb.as_str(), fault.as_str());
            push(name, false, Box::new(move |url| run(test_cuts(verb, fault, url))));
        }
        let name = format!("postgres::{}_when_the_server_is_killed", verb.as_str());
        push(name, true, Box::new(move |_| run(test_kills(verb))));
        if verb != Verb::Open {
            let name = format!("postgres::{}_with_an_exhausted_pool", verb.as_str());
            push(name, false, Box::new(move |url| run(test_blocked(verb, url, Blocked::Pool))));
            let name = format!("postgres::{}_with_statements_that_time_out", verb.as_str());
            push(name, false, Box::new(move |url| run(test_blocked(verb, url, Blocked::Statement))));
        }
    }
    push(
        "postgres::calls_with_a_damaged_audit_log".to_owned(),
        false,
        Box::new(|url| run(audit::test_damaged_log(url))),
    );
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work);
}

fn options() -> PostgresOptions {
    PostgresOptions::default().with_max_connections(2).with_acquire_timeout(Duration::from_secs(5))
}

/// Loses the connection at each step of a verb.
async fn test_cuts(verb: Verb, fault: Fault, url: String) {
    let proxy = Proxy::start(&url).await;
    test_steps(verb, fault, MAX_CUTS, &url, &proxy).await;
}

/// Kills and restarts the server at steps of a verb.
async fn test_kills(verb: Verb) {
    // Nothing is lost by a kill of the processes, so no sync is needed.
    let server = tokio::task::spawn_blocking(|| Server::new("-c fsync=off -c full_page_writes=off")).await.unwrap();
    let url = server.url();
    let server = Mutex::new(server);
    let proxy = Proxy::start(&url).await.with_kill(move || {
        let mut server = server.lock().unwrap();
        server.kill();
        server.start();
    });
    test_steps(verb, Fault::Kill, MAX_KILLS, &url, &proxy).await;
}

/// Runs a verb with a fault at each step, or at `max_steps` of them.
async fn test_steps(verb: Verb, fault: Fault, max_steps: u32, url: &str, proxy: &Proxy) {
    let database = Database::new(url);
    proxy.start_count();
    // Connecting takes steps, too: a verb begins after them.
    if verb == Verb::Open {
        database.open(&proxy.url(url), options()).await.unwrap();
    } else {
        let engine = database.open(&proxy.url(url), options()).await.unwrap();
        let scope = verb::user(u32::MAX);
        let prepared = verb.prepare(&engine, &scope).await;
        proxy.start_count();
        verb.run(&engine, &scope, &prepared).await.unwrap();
    }
    let count = proxy.finish_count();
    // A fork is one new record, which is written with one statement.
    let min_steps = if verb == Verb::Fork { 1 } else { 3 };
    assert!(count >= min_steps, "{} has {count} steps", verb.as_str());
    let tested = if env::var_os(EVERY_STEP).is_some() { count } else { count.min(max_steps) };
    println!("{} of {count} steps of {}", tested, verb.as_str());
    let mut injected = 0;
    // The last step is among them: often it is the commit.
    for step in (0..tested).map(|index| index * (count - 1) / (tested - 1).max(1)) {
        injected += u32::from(test_step(verb, fault, step, url, proxy, &database).await);
    }
    // The number of steps varies a little: a connection may be opened.
    assert!(injected * 4 >= tested * 3, "only {injected} of {tested} faults were injected");
}

/// Runs a verb with a fault at this step. Returns true if the fault was injected.
async fn test_step(verb: Verb, fault: Fault, step: u32, url: &str, proxy: &Proxy, shared: &Database) -> bool {
    // Opening creates a schema of its own.
    let own = if verb == Verb::Open { Some(Database::new(url)) } else { None };
    let database = own.as_ref().unwrap_or(shared);
    let scope = verb::user(step);
    let mut prepared = verb::Prepared::default();
    let mut before = Vec::new();
    let result = if verb == Verb::Open {
        proxy.arm(fault, step);
        database.open(&proxy.url(url), options()).await.map(drop)
    } else {
        let engine = database.open(&proxy.url(url), options()).await.unwrap();
        prepared = verb.prepare(&engine, &scope).await;
        before = verb::stored(&engine, &scope).await;
        proxy.arm(fault, step);
        verb.run(&engine, &scope, &prepared).await
    };
    let is_injected = proxy.disarm().await;
    let engine = database.open(url, options()).await.unwrap();
    let context = format!("{} with {fault:?} at step {step}: {result:?}", verb.as_str());
    check(verb, &engine, step, &before, &result, &prepared, &context).await;
    database.check_health(url).await;
    assert!(is_injected || result.is_ok(), "{context}");
    is_injected
}

/// Checks the state after a fault: nothing or all is done, and the verb can be repeated.
async fn check(
    verb: Verb,
    engine: &MemoryEngine,
    step: u32,
    before: &[String],
    result: &Result<(), memory_engine::Error>,
    prepared: &verb::Prepared,
    context: &str,
) {
    let scope = verb::user(step);
    if let Err(error) = result {
        assert!(error.is_transient(), "{context}: the caller is not told to try again");
    }
    let after = verb::stored(engine, &scope).await;
    let is_done = verb.is_done(engine, &scope, prepared).await;
    assert!(is_done || after == before, "{context}: {before:#?} became {after:#?}");
    assert!(is_done || result.is_err(), "{context}: an acknowledged effect is lost");
    if !is_done {
        verb.run(engine, &scope, prepared).await.unwrap_or_else(|error| panic!("{context}, repeated: {error}"));
        assert!(verb.is_done(engine, &scope, prepared).await, "{context}, repeated");
    }
    engine.drain(&scope, |_| ()).await.unwrap();
    let stats = engine.stats(&scope).await.unwrap();
    assert!(stats.queued.is_empty() && stats.dead_letters.is_empty(), "{context}: {stats:?}");
}

/// The resource that a verb waits for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocked {
    /// All connections of the pool are in use.
    Pool,
    /// A statement waits for a lock.
    Statement,
}

/// Lets a verb wait for a connection or a lock that it does not get, and repeats it.
async fn test_blocked(verb: Verb, url: String, blocked: Blocked) {
    let database = Database::new(&url);
    let (time_limit, options) = match blocked {
        Blocked::Pool => (ACQUIRE_TIMEOUT, options().with_max_connections(1).with_acquire_timeout(ACQUIRE_TIMEOUT)),
        Blocked::Statement => (STATEMENT_TIMEOUT, options().with_statement_timeout(STATEMENT_TIMEOUT)),
    };
    let engine = database.open(&url, options).await.unwrap();
    let scope = verb::user(0);
    let prepared = verb.prepare(&engine, &scope).await;
    let before = verb::stored(&engine, &scope).await;
    let mut holder = database.connect(&url).await;
    sqlx::raw_sql("BEGIN; LOCK TABLE records IN EXCLUSIVE MODE; LOCK TABLE jobs IN EXCLUSIVE MODE")
        .execute(&mut holder)
        .await
        .unwrap();
    let occupying = match blocked {
        Blocked::Pool => {
            // A write that waits for the lock has the only connection.
            let engine = engine.clone();
            let occupying = tokio::spawn(async move { engine.remember(&verb::user(1), "a write that waits").await });
            database.wait_for_blocked(&mut holder).await;
            Some(occupying)
        }
        Blocked::Statement => None,
    };
    let started = Instant::now();
    let error = verb.run(&engine, &scope, &prepared).await.unwrap_err();
    let kind = if blocked == Blocked::Pool { ErrorKind::Unavailable } else { ErrorKind::Timeout };
    assert_eq!((error.kind(), error.is_transient()), (kind, true), "{error}");
    assert!(started.elapsed() < time_limit * 20, "{error} after {:?}", started.elapsed());
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    if let Some(occupying) = occupying {
        occupying.await.unwrap().unwrap();
    }
    assert_eq!(verb::stored(&engine, &scope).await, before, "a verb that failed has an effect");
    verb.run(&engine, &scope, &prepared).await.unwrap();
    assert!(verb.is_done(&engine, &scope, &prepared).await);
    database.check_health(&url).await;
}
