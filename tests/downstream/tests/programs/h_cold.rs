//! A large file that is opened again: the first recalls, and recalls with filters.
//!
//! `DOWNSTREAM_TURNS=200000` gives the size of the report; the time of a recall is printed.

use std::time::{Duration, Instant};

use futures::stream;
use memory_engine::{RecallOptions, prelude::*};

fn turn(n: usize) -> Turn {
    let things = ["garden", "soup", "train", "violin", "window", "dentist", "bicycle", "harbour"];
    let start: i64 = 1_767_225_600_000_000; // 2026-01-01
    let text = format!("I saw the {} number {} by the {}.", things[n % 8], n * 7919 % 100_003, things[n / 8 % 8]);
    let turn = if n.is_multiple_of(2) { Turn::user(text) } else { Turn::assistant(text) };
    turn.at(Timestamp::from_micros(start + n as i64 * 60_000_000)).meta("room", n % 10)
}

async fn timed(memory: &MemoryEngine, kim: &Scope, what: &str, query: RecallQuery) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let found = memory.recall(kim, query).await?;
    let took = started.elapsed();
    println!("{what}: {} hits in {took:.1?}, degraded: {:?}", found.hits.len(), found.degraded);
    assert!(!found.is_partial(), "{what}: {:?}", found.degraded);
    Ok((found.hits.len(), took))
}

#[tokio::test(flavor = "multi_thread")]
async fn recalls_after_opening_find_what_is_there() -> Result<()> {
    let (_folder, path) = crate::database();
    let kim = Scope::user("kim")?;
    let memory = MemoryEngine::open(path.as_path()).await?;
    let turns = (0..crate::turns()).map(turn);
    memory.import(&kim, stream::iter(turns)).run().await?;
    memory.drain(&kim, |_| ()).await?;
    memory.close().await?;

    let memory = MemoryEngine::open(path.as_path()).await?;
    let started = Instant::now();
    memory.admin().warm_up().await?;
    println!("warm-up: {:.1?}", started.elapsed());
    let plain = || RecallQuery::new("the violin by the harbour").with_limit(10);
    let (hits, _) = timed(&memory, &kim, "first recall", plain()).await?;
    assert_eq!(hits, 10);
    let mut plain_times = Vec::new();
    for _ in 0..5 {
        plain_times.push(timed(&memory, &kim, "plain recall", plain()).await?.1);
    }
    plain_times.sort();

    let day: Timestamp = "2026-01-01".parse()?;
    let next: Timestamp = "2026-01-02".parse()?;
    let filters = [
        ("by role", Filter::eq(Field::Role, Role::USER)),
        ("by day", Filter::compare(Field::OccurredAt, memory_engine::Op::Lt, next)),
        ("by metadata", Filter::eq(Field::Metadata("room".into()), 3)),
        ("by role and day", Filter::eq(Field::Role, Role::USER).and(Filter::compare(Field::OccurredAt, memory_engine::Op::Ge, day))),
    ];
    for (what, filter) in filters {
        let mut times = Vec::new();
        for _ in 0..5 {
            let (hits, took) = timed(&memory, &kim, what, plain().with_filter(filter.clone())).await?;
            assert_eq!(hits, 10, "{what}");
            times.push(took);
        }
        times.sort();
        println!("{what}: {:.2} times a plain recall (medians)", times[2].as_secs_f64() / plain_times[2].as_secs_f64());
    }
    let nothing = plain().with_filter(Filter::eq(Field::Metadata("room".into()), 99));
    assert_eq!(timed(&memory, &kim, "nothing matches", nothing).await?.0, 0);
    memory.close().await
}

#[tokio::test]
async fn a_recall_without_time_is_an_error_and_not_an_empty_answer() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::builder().sqlite(path.as_path()).background(false).build().await?;
    let kim = Scope::user("kim")?;
    memory.remember(&kim, "The key is with Mo.").await?;
    let no_time = RecallOptions::default().with_deadline(Duration::ZERO);
    let error = memory.recall(&kim, RecallQuery::new("key").with_options(no_time)).await.expect_err("no time");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.is_transient());
    memory.close().await
}
