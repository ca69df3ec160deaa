//! Deleted records stay deleted, everywhere (R9, R11): thirteen steps.

use std::sync::Arc;

use memory_engine::{
    EnrichmentOptions, Field, Filter, Forget, Kind, MemoryEngine, PutMode, Record, RecordId, ScanQuery, State, Trust,
    Turn,
    enrichment::SummaryTrigger,
    graph::{GraphFactsQuery, RuleExtractor},
    history::Tombstone,
};

use crate::fixtures::{TestDatabase, lin, recalled_texts, story};

const SECRET: &str = "Zanzibarine";

async fn open(test_db: &TestDatabase) -> MemoryEngine {
    let digest = EnrichmentOptions::rules().unwrap().with_trigger(SummaryTrigger::every_turns(3));
    test_db.open_with(|builder| builder.enrichment(digest).graph(Arc::new(RuleExtractor::default()))).await
}

async fn everything(memory: &MemoryEngine) -> Vec<Record> {
    memory.scan(&lin(), &ScanQuery::oldest(9999)).await.unwrap().records
}

async fn tombstones(memory: &MemoryEngine) -> Vec<Tombstone> {
    memory.admin().tombstones(&lin(), None, 9999).await.unwrap()
}

/// That nothing anywhere says what was deleted.
async fn silent(memory: &MemoryEngine, step: &str) {
    for record in everything(memory).await {
        let all = serde_json::to_string(&record).unwrap();
        assert!(!all.contains(SECRET), "{step}: {all}");
    }
    let found = recalled_texts(memory, &lin(), &format!("allergic to {SECRET}")).await;
    assert!(found.iter().all(|text| !text.contains(SECRET)), "{step}: {found:?}");
    let known = memory.graph().facts(&lin(), &GraphFactsQuery::about([format!("who is {SECRET}?")])).await.unwrap();
    assert!(known.entities.iter().all(|entity| !entity.name.contains(SECRET)), "{step}");
    assert!(known.relations.iter().all(|relation| !format!("{relation:?}").contains(SECRET)), "{step}");
    let history = memory.facts(&lin()).history().records().await.unwrap();
    assert!(history.iter().all(|fact| !fact.text.contains(SECRET)), "{step}");
}

fn imported(text: &str) -> Record {
    let mut record = Record::new(story(None), Kind::TURN, text, &memory_engine::SystemClock);
    (record.id, record.trust) = (RecordId::new(), Trust::Import);
    record.occurred_at = memory_engine::Timestamp::from_micros(crate::fixtures::NOON - 1);
    record
}

pub(crate) async fn r9_deleted_records_stay_deleted(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    // 1. write
    let text = format!("My sister is called {SECRET}. {SECRET} lives in Porto with Anna Reed.");
    let gone = memory.remember(&story(None), Turn::user(&text).with_message_id("m1")).await.unwrap();
    for text in ["I went hiking on Saturday with Anna Reed.", "The mountain was foggy and cold."] {
        memory.remember(&story(None), text).await.unwrap();
    }
    // 2. derive
    memory.drain(&lin(), |_| ()).await.unwrap();
    let before = everything(&memory).await;
    let kinds = |kind: Kind| before.iter().filter(|record| record.kind == kind).count();
    assert!(kinds(Kind::FACT) >= 1 && kinds(Kind::SUMMARY) == 1, "{before:?}");
    let known = memory.graph().facts(&lin(), &GraphFactsQuery::about([SECRET])).await.unwrap();
    assert!(!known.entities.is_empty(), "the graph knows it");
    // 3. delete
    let removed = memory.forget(&lin(), gone).await.unwrap();
    let forgotten = &removed.removed;
    assert!(removed.records() >= 3, "with what was made from it: {removed:?}");
    assert_eq!((forgotten.records["turn"], forgotten.cascade_deleted), (1, removed.records() - 1));
    assert_eq!((forgotten.keywords, forgotten.vectors), (removed.records(), removed.records()), "{removed:?}");
    assert!(forgotten.mentions >= 2 && forgotten.tombstones == removed.records(), "{removed:?}");
    silent(&memory, "deleted").await;
    memory.drain(&lin(), |_| ()).await.unwrap();
    silent(&memory, "derived anew").await;
    // 4. import again: the same record, and one that reads the same
    let again: Vec<Record> = before.iter().filter(|record| !record.kind.is_ledger()).cloned().collect();
    memory.store(&lin(), again.clone(), PutMode::IfAbsent).await.unwrap();
    memory.store(&lin(), vec![imported(&text)], PutMode::IfAbsent).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    silent(&memory, "imported").await;
    // 5. reindex
    memory.admin().reindex(&lin()).await.unwrap();
    memory.graph().rebuild(&lin(), |_| ()).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    silent(&memory, "indexed anew").await;
    // 6. restart
    drop(memory);
    let memory = open(&test_db).await;
    silent(&memory, "opened again").await;
    // 7. export, 8. import into another memory that still has it
    let (records, buried) = (everything(&memory).await, tombstones(&memory).await);
    assert!(buried.iter().any(|tombstone| tombstone.id == gone && !tombstone.cascade_deleted));
    let other =
        MemoryEngine::builder().in_memory().clock(test_db.clock.clone()).background(false).build().await.unwrap();
    other.store(&lin(), again.clone(), PutMode::IfAbsent).await.unwrap();
    other.store(&lin(), records, PutMode::IfAbsent).await.unwrap();
    other.admin().import_tombstones(&lin(), &buried).await.unwrap();
    other.drain(&lin(), |_| ()).await.unwrap();
    for record in everything(&other).await {
        assert!(!record.text.contains(SECRET), "the other one: {record:?}");
    }
    // 9. an older backup is put over it
    memory.store(&lin(), again, PutMode::Upsert).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    silent(&memory, "restored from a backup").await;
    // 10. search, 11. history: asked above at each step; the record itself
    assert_eq!(memory.get(&lin(), gone).await.unwrap(), None);
    assert!(memory.remember(&story(None), Turn::user(&text).with_message_id("m1")).await.is_err(), "its id is blocked");
    // 12. queue
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!(
        (stats.queued.len(), stats.dead_letters.len(), memory.admin().failures(&lin(), 9).await.unwrap().len()),
        (0, 0, 0)
    );
    // 13. bytes
    drop(memory);
    test_db.assert_no_trace_of(SECRET).await;
}

pub(crate) async fn forgetting_a_user_deletes_everything(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let mo = memory_engine::Scope::user("mo").unwrap();
    for n in 0..7 {
        memory.remember(&story(None), format!("I'm allergic to {SECRET} number {n}.").as_str()).await.unwrap();
        memory.remember(&mo, format!("I like tea number {n}.").as_str()).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory.drain(&mo, |_| ()).await.unwrap();
    let others = memory.scan(&mo, &ScanQuery::oldest(999)).await.unwrap().records;
    memory.history().retract(&lin(), &[everything(&memory).await[0].id], "test").await.unwrap();
    memory.forget(&lin(), Forget::Everything).await.unwrap();
    assert_eq!(everything(&memory).await, []);
    silent(&memory, "left").await;
    assert_eq!(memory.scan(&mo, &ScanQuery::oldest(999)).await.unwrap().records, others, "nobody else is touched");
    drop(memory);
    test_db.assert_no_trace_of(SECRET).await;
}

pub(crate) async fn revoked_memory_is_kept(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let id = memory.remember(&story(None), "I'm allergic to walnuts.").await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory.history().retract(&lin(), &[id], "a joke").await.unwrap();
    let revoked = Filter::eq(Field::State, State::Revoked.as_str());
    let page = memory.scan(&lin(), &ScanQuery::oldest(9).with_filter(revoked)).await.unwrap();
    assert!(page.records.len() >= 2, "the turn and the fact: {:?}", page.records);
    let known = memory.graph().facts(&lin(), &GraphFactsQuery::about(["walnuts"])).await.unwrap();
    assert!(known.entities.is_empty() && known.relations.is_empty());
}

pub(crate) async fn r9_reason_of_a_retraction_goes_with_its_records(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let reason = format!("{SECRET} was private");
    let remember = async |text: &str| memory.remember(&story(None), text).await.unwrap();
    let [forgotten, kept] = [remember("I went hiking in Porto.").await, remember("I like tea.").await];
    let edited = memory.remember(&story(None), Turn::user("I like rum.").with_message_id("m9")).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    let both = memory.history().retract(&lin(), &[forgotten, kept], &reason).await.unwrap();
    let other = memory.history().retract(&lin(), &[edited], &reason).await.unwrap();
    let reasons = async || {
        let retractions = memory.history().retractions(&lin(), 9).await.unwrap();
        retractions.into_iter().map(|retraction| (retraction.id, retraction.reason)).collect::<Vec<_>>()
    };
    assert_eq!(reasons().await, [(other.id, reason.clone()), (both.id, reason)]);
    memory.forget(&lin(), forgotten).await.unwrap();
    memory.remember(&story(None), Turn::user("I like gin.").with_message_id("m9")).await.unwrap();
    assert_eq!(reasons().await, [(other.id, String::new()), (both.id, String::new())]);
    silent(&memory, "forgotten").await;
    assert_eq!(memory.history().restore(&lin(), both.id).await.unwrap(), 2, "the other turn and its fact");
    assert_eq!(memory.get(&lin(), kept).await.unwrap().unwrap().state, State::Active);
    drop(memory);
    test_db.assert_no_trace_of(SECRET).await;
}

pub(crate) async fn r9_an_interrupted_deletion_is_visible_until_it_is_repeated(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let turns = (0..1100).map(|n| imported(&format!("turn number {n}"))).collect::<Vec<_>>();
    memory.store(&lin(), turns, PutMode::Create).await.unwrap();
    let problems = async || memory_engine::admin::check_health(&test_db.database()).await.unwrap().problems;
    let is_reported = |problems: &[String]| problems.iter().any(|problem| problem.contains("are not complete"));
    assert!(!is_reported(&problems().await));
    // The future is dropped, as in a process that ends, once the first page is gone. While the records are counted, it
    // is not polled, so that it cannot finish.
    let scope = lin();
    let mut deletion = Box::pin(memory.forget(&scope, Forget::Everything));
    while everything(&memory).await.len() > 1000 {
        if let std::task::Poll::Ready(finished) = futures::poll!(&mut deletion) {
            panic!("it was not interrupted: {finished:?}");
        }
    }
    drop(deletion);
    assert!(is_reported(&problems().await));
    let report = memory.forget(&lin(), Forget::Everything).await.unwrap();
    assert!(report.records() < 1100, "{report:?}");
    assert_eq!((everything(&memory).await, is_reported(&problems().await)), (Vec::new(), false));
    // A whole tenant, which no user owns.
    let others = (0..600).map(|n| imported(&format!("other turn number {n}"))).collect::<Vec<_>>();
    memory.store(&lin(), others, PutMode::Create).await.unwrap();
    let tenant = memory_engine::Scope::tenant_wide(lin().tenant()).unwrap();
    assert_eq!(memory.forget(&tenant, Forget::Everything).await.unwrap().records(), 600);
    assert!(memory.scan(&tenant, &ScanQuery::oldest(9)).await.unwrap().records.is_empty());
    assert!(!is_reported(&problems().await));
}
