//! Lines that a new user is likely to write, because other libraries accept them. Each must compile; results that could
//! be wrong are checked.

use std::time::{Duration, SystemTime};

use memory_engine::{
    Cursor, Op, Outcome, Page, PutMode, RecallOptions, RecordId, State,
    embed::HashEmbedder,
    jiff::{civil::date, tz::TimeZone},
    prelude::*,
    recall::{Method, Retriever, Retrievers},
    serde_json::{self, json},
    store::{BlockReason, Order},
};

#[test]
fn filters() {
    let name = String::from("lin");
    let an_hour_later = SystemTime::UNIX_EPOCH + Duration::from_secs(3600);
    let epoch = memory_engine::jiff::Timestamp::UNIX_EPOCH;
    let filters = [
        Filter::eq(Field::Role, Role::USER),
        Filter::eq(Field::Kind, Kind::FACT),
        Filter::eq(Field::State, State::Active),
        Filter::eq(Field::Id, RecordId::new()),
        Filter::eq(Field::Speaker, &name),
        Filter::eq(Field::Sequence, 5_i64),
        Filter::eq(Field::Round, 5_u32),
        Filter::meta("room", 3),
        Filter::meta("room", 3_usize),
        Filter::compare(Field::meta("score"), Op::Ge, 0.5_f32),
        Filter::compare(Field::OccurredAt, Op::Ge, an_hour_later),
        Filter::compare(Field::OccurredAt, Op::Lt, epoch),
        Filter::since(an_hour_later) & Filter::until(epoch),
        Filter::on_day(date(2024, 5, 1), &TimeZone::UTC) | !Filter::eq(Field::Tags, "old"),
        Filter::any_of(Field::Kind, [Kind::NOTE, Kind::FACT]),
        serde_json::from_value(json!({"field": "kind", "value": "note"})).unwrap(),
    ];
    for filter in filters {
        filter.validate().unwrap();
    }
}

#[test]
fn times() {
    let time = Timestamp::from(SystemTime::UNIX_EPOCH);
    assert_eq!(format!("{time:?} {time}"), "1970-01-01T00:00:00Z 1970-01-01T00:00:00Z");
    let back: SystemTime = time.into();
    assert_eq!(back, SystemTime::UNIX_EPOCH);
    let zoned = date(1970, 1, 1).to_zoned(TimeZone::UTC).unwrap();
    assert_eq!(Timestamp::from(zoned), time);
}

#[test]
fn turns_queries_and_options() {
    let text = String::from("hello");
    let turns: Vec<Turn> = vec![
        (&text).into(),
        "hello".into(),
        Turn::system("Be brief").at(SystemTime::UNIX_EPOCH),
        Turn::tool("42").meta("room", 3).meta("tags", ["a", "b"].as_slice()),
        Turn::new(Role::USER, &text).at(memory_engine::jiff::Timestamp::UNIX_EPOCH),
    ];
    assert!(turns.iter().all(|turn| serde_json::to_string(turn).is_ok()));
    let query = RecallQuery::new(&text)
        .since(SystemTime::UNIX_EPOCH)
        .asked_at(SystemTime::UNIX_EPOCH, TimeZone::UTC)
        .with_zone(TimeZone::UTC)
        .with_context(["before"])
        .with_retrievers(Retrievers::KeywordOnly)
        .with_options(RecallOptions::default().with_max_candidates(50).with_min_relevance(0.5));
    let json = serde_json::to_string(&query).unwrap();
    assert_eq!(serde_json::from_str::<RecallQuery>(&json).unwrap(), query);
}

#[test]
fn enums_are_printed() {
    let printed = [
        ErrorKind::NotFound.to_string(),
        Retriever::Keyword.to_string(),
        Retrievers::All.to_string(),
        Order::NewestFirst.to_string(),
        Op::Ge.to_string(),
        PutMode::IfAbsent.to_string(),
        Outcome::Created.to_string(),
        BlockReason::Content.to_string(),
        Method::Scores.to_string(),
        State::Active.to_string(),
        Field::meta("room").to_string(),
    ];
    let names = [
        "not_found",
        "keyword",
        "all",
        "newest_first",
        "ge",
        "if_absent",
        "created",
        "content",
        "scores",
        "active",
        "metadata.room",
    ];
    assert_eq!(printed, names);
    assert_eq!("vector_only".parse::<Retrievers>().unwrap(), Retrievers::VectorOnly);
}

#[tokio::test]
async fn verbs() -> Result<()> {
    let memory = MemoryEngine::builder().in_memory().embedder(HashEmbedder::default()).build().await?;
    let lin = Scope::user("lin")?;
    let text = String::from("My dog is called Biscuit");
    let id = memory.remember(&lin, &text).await?;
    memory.remember_all(&lin, ["I like tea", "I live in Porto"]).await?;

    let recall = memory.recall(&lin, "What is my dog called?").await?;
    assert_eq!(recall.best().map(RecallHit::text), Some(text.as_str()));
    assert_eq!(recall.best().map(RecallHit::id), Some(id));
    for hit in &recall {
        println!("{:.2} {}", hit.score.value(), hit.text());
    }
    let texts: Vec<String> = recall.into_iter().map(|hit| hit.record.text).collect();
    assert_eq!(texts[0], text);

    let page: Page = memory.scan(&lin, &ScanQuery::oldest(2)).await?;
    let token = page.next.map(|next| next.to_string()).unwrap();
    let rest = ScanQuery::oldest(2).with_after(Some(token.parse::<Cursor>()?));
    assert_eq!(memory.scan(&lin, &rest).await?.records.len(), 1);
    let request: ScanQuery = serde_json::from_value(json!({"limit": 2, "after": token})).unwrap();
    assert_eq!(request, rest);
    memory.close().await?;
    let closed = memory.remember(&lin, "too late").await.unwrap_err();
    assert_eq!((closed.kind(), closed.is_transient()), (ErrorKind::Closed, false));
    Ok(())
}
