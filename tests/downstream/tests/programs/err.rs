//! Lines as a newcomer writes them: each compiles and does what it says.

use std::{sync::Arc, time::SystemTime};

use memory_engine::{
    FilterValue, Job, Op, Order, PutMode, RecallOptions, State, Trust,
    embed::HashEmbedder,
    jiff,
    recall::{LexicalReranker, Retriever, Retrievers},
    serde_json::{self, json},
    testing::ManualClock,
};
use memory_engine::prelude::*;

#[test]
fn filters_take_the_types_of_their_fields() -> Result<()> {
    let record = Record::new(Scope::user("kim")?, Kind::FACT, "hello", &memory_engine::SystemClock);
    assert!(Filter::eq(Field::Kind, Kind::FACT).matches(&record));
    assert!(Filter::eq(Field::State, State::Active).matches(&record));
    assert!(!Filter::eq(Field::Role, Role::USER).matches(&record));
    assert!(!Filter::eq(Field::Trust, Trust::Import).matches(&record));
    assert!(Filter::eq(Field::Id, record.id).matches(&record));
    for filter in [
        Filter::eq(Field::Sequence, 5_i64),
        Filter::eq(Field::Round, 5_u32),
        Filter::eq(Field::Metadata("room".into()), 5),
        Filter::eq(Field::Metadata("room".into()), 5_u64),
        Filter::eq(Field::Metadata("open".into()), true),
        Filter::eq(Field::Metadata("name".into()), String::from("x")),
        Filter::compare(Field::Confidence, Op::Ge, 0.5),
        Filter::compare(Field::OccurredAt, Op::Lt, SystemTime::now()),
        Filter::compare(Field::OccurredAt, Op::Lt, jiff::Timestamp::now()),
        Filter::compare(Field::OccurredAt, Op::Lt, "2026-01-01".parse::<Timestamp>()?),
    ] {
        filter.validate()?;
        let text = serde_json::to_string(&filter).expect("JSON");
        assert_eq!(serde_json::from_str::<Filter>(&text).expect("a filter"), filter);
    }
    let _: FilterValue = 3.into();
    Ok(())
}

#[test]
fn enums_have_names() {
    assert_eq!(ErrorKind::Timeout.to_string(), "timeout");
    assert_eq!(Retriever::Keyword.to_string(), "keyword");
    assert_eq!(Retrievers::default().as_str(), "all");
    assert_eq!(Order::NewestFirst.to_string(), "newest_first");
    assert_eq!(Op::Ge.to_string(), "ge");
    assert_eq!(Job::Embedding.to_string(), Job::Embedding.as_str());
    assert_eq!(PutMode::Upsert.to_string(), "upsert");
    assert_eq!(Kind::TURN.to_string(), "turn");
}

#[test]
fn times_convert_and_print_readably() -> Result<()> {
    let time: Timestamp = "2024-08-29T09:00:00Z".parse()?;
    assert!(format!("{time:?}").contains("2024-08-29"), "{time:?}");
    let system = SystemTime::from(time);
    assert_eq!(Timestamp::from(system), time);
    assert_eq!(Timestamp::from(jiff::Timestamp::from(time)), time);
    let _ = Turn::user("hello").at(system);
    Ok(())
}

#[test]
fn what_is_sent_and_received_is_json() -> Result<()> {
    let turn = Turn::user("hello").meta("room", 3).meta("name", "blue");
    let text = serde_json::to_string(&turn).expect("JSON");
    let _: Turn = serde_json::from_str(&text).expect("a turn");
    let query: RecallQuery = serde_json::from_value(json!({"text": "hello", "limit": 3})).expect("a query");
    assert_eq!(query.limit, Some(3));
    let options: RecallOptions = serde_json::from_value(json!({"limit": 3})).expect("options");
    assert_eq!(options.limit, 3);
    let scan: ScanQuery = serde_json::from_value(json!({"limit": 3})).expect("a scan");
    assert_eq!(scan.limit, 3);
    Ok(())
}

#[tokio::test]
async fn setters_take_values_and_shared_values() -> Result<()> {
    let clock = Arc::new(ManualClock::new("2024-05-01T20:00:00Z".parse()?));
    let memory = MemoryEngine::builder()
        .in_memory()
        .embedder(HashEmbedder::default())
        .reranker(Arc::new(LexicalReranker::default()))
        .clock(clock)
        .background(false)
        .build()
        .await?;
    let kim = Scope::user("kim")?;
    let owned = String::from("hello");
    memory.remember(&kim, &owned).await?;
    memory.remember(&kim, owned).await?;
    memory.remember_all(&kim, ["one", "two"]).await?;
    memory.remember_all(&kim, vec![Turn::user("three"), Turn::system("four"), Turn::tool("five")]).await?;
    assert_eq!(memory.scan(&kim, &ScanQuery::newest(10)).await?.records.len(), 7);
    Ok(())
}
