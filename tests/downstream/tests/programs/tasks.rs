//! The ten most common tasks, each as short as it reads in the documentation.

use futures::TryStreamExt;
use memory_engine::{embed::DefaultEmbedder, history::Edit, jiff::tz::TimeZone, prelude::*};

fn kim() -> Scope {
    Scope::user("kim").expect("a scope")
}

#[tokio::test]
async fn task_1_start() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::open(path.as_path()).await?;
    memory.close().await?;
    let embedder = DefaultEmbedder::default();
    let memory = MemoryEngine::builder().sqlite(&path).zone(TimeZone::UTC).embedder(embedder).build().await?;
    memory.close().await
}

#[tokio::test]
async fn task_2_a_conversation_at_once() -> Result<()> {
    let memory = crate::quiet().await?;
    let turns = [Turn::user("My interview is on Friday"), Turn::assistant("Good luck!")];
    memory.remember_all(&kim(), turns).await?;
    assert_eq!(memory.scan(&kim(), &ScanQuery::oldest(10)).await?.records.len(), 2);
    Ok(())
}

#[tokio::test]
async fn task_3_the_best_memory() -> Result<()> {
    let memory = crate::quiet().await?;
    memory.remember(&kim(), "My interview is on Friday").await?;
    let found = memory.recall(&kim(), "When is my interview?").await?;
    assert_eq!(found.best().map(RecallHit::text), Some("My interview is on Friday"));
    Ok(())
}

#[tokio::test]
async fn task_4_memories_in_a_prompt() -> Result<()> {
    let memory = crate::quiet().await?;
    memory.remember(&kim(), "My interview is on Friday").await?;
    let context =
        memory.context(&kim(), "When is my interview?").persona("You are kind.").recent(8).max_tokens(800).await?;
    assert!(context.text.starts_with("You are kind.") && context.text.contains("interview"));
    assert!(context.tokens <= 800);
    Ok(())
}

#[tokio::test]
async fn task_5_a_filter() -> Result<()> {
    let memory = crate::quiet().await?;
    let last_year: Timestamp = "2025-06-01".parse()?;
    let this_year: Timestamp = "2026-01-01".parse()?;
    memory.remember(&kim(), Turn::note("The violin is in the attic.").meta("room", 3)).await?;
    memory.remember(&kim(), Turn::note("The violin was in the attic.").meta("room", 3).at(last_year)).await?;
    memory.remember(&kim(), Turn::note("The violin is not in the cellar.").meta("room", 4)).await?;
    let filter = Filter::eq(Field::Kind, Kind::NOTE)
        .and(Filter::eq(Field::Metadata("room".into()), 3))
        .and(Filter::compare(Field::OccurredAt, memory_engine::Op::Ge, this_year));
    let found = memory.recall(&kim(), RecallQuery::new("violin").with_filter(filter)).await?;
    let texts: Vec<&str> = found.hits.iter().map(RecallHit::text).collect();
    assert_eq!(texts, ["The violin is in the attic."]);
    Ok(())
}

#[tokio::test]
async fn task_6_metadata() -> Result<()> {
    let memory = crate::quiet().await?;
    let id = memory.remember(&kim(), Turn::user("hello").meta("room", 3)).await?;
    let record = memory.get(&kim(), id).await?.expect("the record");
    assert_eq!(record.metadata["room"], 3);
    Ok(())
}

#[tokio::test]
async fn task_7_every_record_of_a_user() -> Result<()> {
    let memory = crate::quiet().await?;
    memory.remember_all(&kim(), (0..250).map(|n| format!("line {n}"))).await?;
    let mut texts = Vec::new();
    let mut all = memory.records(&kim()).filter(Filter::eq(Field::Kind, Kind::TURN)).page_rows(100).stream();
    while let Some(record) = all.try_next().await? {
        texts.push(record.text);
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 250);
    Ok(())
}

#[tokio::test]
async fn task_8_what_was_true_then() -> Result<()> {
    let rules = EnrichmentOptions::rules()?;
    let memory = MemoryEngine::builder().in_memory().enrichment(rules).background(false).build().await?;
    let (may, june, august): (Timestamp, Timestamp, Timestamp) =
        ("2024-05-01".parse()?, "2024-06-15".parse()?, "2024-08-29".parse()?);
    memory.remember(&kim(), Turn::user("I live in Porto.").at(may)).await?;
    memory.remember(&kim(), Turn::user("I moved to Lisbon.").at(august)).await?;
    memory.drain(&kim(), |_| ()).await?;
    let facts = memory.facts(&kim()).as_of(june).about("user").await?;
    assert_eq!(facts[0].value, "Porto");
    Ok(())
}

#[tokio::test]
async fn task_9_correct_a_memory() -> Result<()> {
    let memory = crate::quiet().await?;
    let id = memory.remember(&kim(), "The spare key is under the mat").await?;
    memory.update(&kim(), id, "The spare key is with Mo").await?;
    let record = memory.get(&kim(), id).await?.expect("the record");
    assert_eq!((record.text.as_str(), Edit::all_of(&record).len()), ("The spare key is with Mo", 1));
    Ok(())
}

#[tokio::test]
async fn task_10_stop() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::open(path.as_path()).await?;
    memory.remember(&kim(), "hello").await?;
    memory.close().await?;
    assert_eq!(memory.remember(&kim(), "more").await.expect_err("closed").kind(), ErrorKind::Closed);
    Ok(())
}
