//! A bulk import with progress and outcome of each record, filters over it, and an export by pages and as a stream.

use futures::{TryStreamExt, stream};
use memory_engine::{import::ImportReport, prelude::*, serde_json};

const SESSIONS: usize = 50;

/// The n-th of a made-up conversation, a minute after the one before.
fn turn(n: usize) -> Turn {
    let topics = ["the garden", "a recipe for soup", "the train to Ghent", "a violin lesson", "the broken window"];
    let start: i64 = 1_767_225_600_000_000; // 2026-01-01
    let text = format!("Message {n} is about {} and about number {}.", topics[n % topics.len()], n * 7919 % 100_003);
    let turn = if n.is_multiple_of(2) { Turn::user(text) } else { Turn::assistant(text) };
    let time = Timestamp::from_micros(start + n as i64 * 60_000_000);
    turn.at(time).with_message_id(format!("m{n}")).meta("room", n % SESSIONS)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_reports_progress_and_each_refused_record() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::open(path.as_path()).await?;
    let kim = Scope::user("kim")?;
    let count = crate::turns();
    let bad = |n: usize| n.is_multiple_of(500);
    let turns = (0..count).map(|n| if bad(n) { turn(n).with_tags([""; 1]).with_confidence(7.0) } else { turn(n) });

    let (sender, progress) = std::sync::mpsc::channel();
    let import = memory.import(&kim, stream::iter(turns));
    let started = std::time::Instant::now();
    let report: ImportReport = import.on_progress(move |so_far| _ = sender.send(so_far.read)).run().await?;
    let took = started.elapsed();
    println!("import: {} turns in {took:.1?}, {:.0} a second", report.read, report.read as f64 / took.as_secs_f64());

    let refused = (0..count).filter(|n| bad(*n)).count() as u64;
    assert_eq!((report.read, report.failed), (count as u64, refused));
    assert_eq!(report.created, count as u64 - refused);
    assert_eq!(report.failures[0].index, 0);
    let steps: Vec<u64> = progress.iter().collect();
    assert!(steps.is_sorted() && steps.last() == Some(&(count as u64)), "{steps:?}");

    // The same import again changes nothing.
    let again = memory.import(&kim, stream::iter((0..100).filter(|n| !bad(*n)).map(turn))).run().await?;
    assert_eq!((again.unchanged, again.created), (99, 0));

    // Found by its words before the background has done anything; filters by metadata, role and day.
    let found = memory.recall(&kim, RecallQuery::new("violin lesson").with_limit(5)).await?;
    assert_eq!(found.hits.len(), 5);
    let room = Filter::eq(Field::Metadata("room".into()), 3);
    let in_room = memory.recall(&kim, RecallQuery::new("violin lesson").with_filter(room.clone())).await?;
    assert!(in_room.hits.iter().all(|hit| hit.record.metadata["room"] == 3) && !in_room.hits.is_empty());
    let (from, to): (Timestamp, Timestamp) = ("2026-01-01".parse()?, "2026-01-02".parse()?);
    let said = Filter::eq(Field::Role, Role::USER);
    let first_day = RecallQuery::new("the garden").since(from).until(to).with_filter(said);
    let found = memory.recall(&kim, first_day).await?;
    assert!(found.hits.iter().all(|hit| hit.record.role == Some(Role::USER) && hit.record.occurred_at < to));
    assert!(!found.hits.is_empty());

    export(&memory, &kim, room, report.created).await?;
    let started = std::time::Instant::now();
    memory.drain(&kim, |_| ()).await?;
    println!("drain: {:.1?}", started.elapsed());
    assert_eq!(memory.stats(&kim).await?.queued.values().sum::<u64>(), 0);
    memory.close().await
}

async fn export(memory: &MemoryEngine, kim: &Scope, room: Filter, stored: u64) -> Result<()> {
    let mut seen = 0;
    let mut last = None;
    let mut all = memory.records(kim).stream();
    while let Some(record) = all.try_next().await? {
        assert!(last < Some(record.position()), "in the order of time, without repetition");
        last = Some(record.position());
        let line = serde_json::to_string(&record).expect("JSON");
        assert_eq!(serde_json::from_str::<Record>(&line).expect("a record"), record);
        seen += 1;
    }
    assert_eq!(seen, stored);
    let filtered = memory.records(kim).filter(room.clone()).collect().await?;
    let page = memory.scan(kim, &ScanQuery::oldest(10).with_filter(room).counted()).await?;
    assert_eq!(page.total, Some(filtered.len() as u64));
    Ok(())
}
