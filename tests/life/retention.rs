//! Pins, importance, expiry and ended validity.

use std::time::Duration;

use memory_engine::{
    EnrichmentOptions, ErrorKind, Field, Filter, Forget, Injector, Kind, MemoryEngine, PutMode, RecallOptions,
    RecallQuery, Record, RecordId, ScanQuery, Scope, State, Timestamp, Turn,
    context::{EstimatedTokens, IncomingMessage, OpeningContext},
    enrichment::Chunker,
    jiff::tz::TimeZone,
    recall::Verdict,
    retention::{RecordPatch, RetentionPolicy, RetentionRule},
};

use crate::fixtures::{NOON, TestDatabase, lin, message, recalled_texts, story};

const HOUR: Duration = Duration::from_secs(60 * 60);

async fn open(test_db: &TestDatabase) -> MemoryEngine {
    let options = EnrichmentOptions::rules().unwrap();
    test_db.open_with(|builder| builder.enrichment(options)).await
}

async fn drain(memory: &MemoryEngine) {
    memory.drain(&lin(), |_| ()).await.unwrap();
}

async fn kinds(memory: &MemoryEngine) -> Vec<String> {
    let records = memory.scan(&lin(), &ScanQuery::oldest(100)).await.unwrap().records;
    records.iter().map(|record| record.kind.to_string()).collect()
}

async fn facts(memory: &MemoryEngine) -> Vec<String> {
    memory.facts(&lin()).await.unwrap().into_iter().map(|fact| fact.value).collect()
}

fn at(hours: u64) -> Timestamp {
    Timestamp::from_micros(NOON).after(HOUR * u32::try_from(hours).unwrap())
}

pub(crate) async fn no_read_returns_an_expired_record(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let parking = Turn::user("I parked the car on level four. 我住在里斯本。").with_time_to_live(2 * HOUR);
    let id = memory.remember(&story(None), parking).await.unwrap();
    memory.remember(&story(None), message(2, "The car needs new tyres.")).await.unwrap();
    drain(&memory).await;
    assert_eq!(facts(&memory).await, ["里斯本"]);
    assert_eq!(recalled_texts(&memory, &lin(), "Where is the car parked?").await.len(), 2);

    test_db.clock.advance(2 * HOUR);
    let texts = recalled_texts(&memory, &lin(), "Where is the car parked?").await;
    assert_eq!(texts, ["The car needs new tyres."]);
    assert_eq!(facts(&memory).await, [""; 0], "a fact expires with its source");
    assert_eq!(memory.get(&lin(), id).await.unwrap(), None);
    assert_eq!(memory.get_all(&lin(), &[id]).await.unwrap(), [None]);
    assert_eq!(kinds(&memory).await, ["turn"]);
    let counted = memory.scan(&lin(), &ScanQuery::oldest(9).counted()).await.unwrap();
    assert_eq!((counted.records.len(), counted.total), (1, Some(1)));
    assert_eq!(memory.history().timeline(&story(None), &ScanQuery::newest(9)).await.unwrap().records.len(), 1);
    let why = memory.admin().explain(&lin(), "Where is the car parked?", id).await.unwrap();
    assert_eq!(why.verdict, Verdict::NotThere);
    assert_eq!(memory.update(&lin(), id, "on level five").await.unwrap_err().kind(), ErrorKind::NotFound);
    let patch = RecordPatch::default().pinned(true);
    assert_eq!(memory.patch(&lin(), &[id], patch).await.unwrap_err().kind(), ErrorKind::NotFound);
}

pub(crate) async fn expired_records_are_deleted_with_what_is_derived_from_them(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    memory.remember(&story(None), message(1, "I live in Porto.")).await.unwrap();
    let stay = Turn::user("I moved to Lisbon.").at(at(1)).with_time_to_live(3 * HOUR);
    test_db.clock.advance(HOUR);
    let id = memory.remember(&story(None), stay).await.unwrap();
    drain(&memory).await;
    assert_eq!(facts(&memory).await, ["Lisbon"]);

    test_db.clock.advance(3 * HOUR);
    let removed = memory.deletion().delete_expired().await.unwrap();
    assert_eq!((removed.total(), removed.tombstones), (2, 2), "the turn and its fact: {removed:?}");
    assert_eq!(facts(&memory).await, ["Porto"], "the superseded fact holds again");
    assert_eq!(memory.deletion().delete_expired().await.unwrap().total(), 0);
    let again = Turn::user("I moved to Lisbon.").with_id(id);
    assert_eq!(memory.remember(&story(None), again).await.unwrap_err().kind(), ErrorKind::Conflict, "it stays deleted");
}

pub(crate) async fn an_expiry_without_tombstones_is_not_remembered(test_db: TestDatabase) {
    let policy = RetentionPolicy::default().with_rule(RetentionRule::expire_after(HOUR)).with_tombstones(false);
    let memory = test_db.open_with(|builder| builder.retention(policy)).await;
    let turn = || Turn::user("Gate B12").with_message_id("m1");
    let id = memory.remember(&lin(), turn()).await.unwrap();
    test_db.clock.advance(HOUR);
    let removed = memory.deletion().delete_expired().await.unwrap();
    assert_eq!((removed.total(), removed.tombstones), (1, 0));
    assert_eq!(memory.stats(&lin()).await.unwrap().tombstones, 0);
    assert_eq!(memory.remember(&lin(), turn()).await.unwrap(), id);
}

pub(crate) async fn a_message_that_is_sent_again_keeps_pin_and_expiry(test_db: TestDatabase) {
    let policy = RetentionPolicy::default().with_rule(RetentionRule::expire_after(10 * HOUR).of_kind(Kind::TURN));
    let memory = test_db.open_with(|builder| builder.retention(policy)).await;
    let turn = || Turn::user("我对花生过敏").with_message_id("m1").at(at(0));
    let id = memory.remember(&lin(), turn()).await.unwrap();
    memory.patch(&lin(), &[id], RecordPatch::default().pinned(true)).await.unwrap();
    let first = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!(first.expires_at, Some(at(10)));
    test_db.clock.advance(HOUR);
    memory.remember(&lin(), turn()).await.unwrap();
    let second = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!(second, first, "it is not even written again");
}

pub(crate) async fn chunks_follow_the_expiry_of_their_turn(test_db: TestDatabase) {
    let options = EnrichmentOptions::default().with_chunks(Chunker::default());
    let memory = test_db.open_with(|builder| builder.enrichment(options)).await;
    let page = (0..40).map(|n| format!("Paragraph {n} speaks of the harbour and its boats.\n\n")).collect::<String>();
    let id = memory.remember(&lin(), Turn::user(page).with_time_to_live(HOUR)).await.unwrap();
    drain(&memory).await;
    let chunks = async || {
        let query = ScanQuery::oldest(100).with_filter(Filter::eq(Field::Kind, "chunk"));
        memory.scan(&lin(), &query).await.unwrap().records
    };
    let expiry = |records: &[Record]| records.iter().map(|record| record.expires_at).collect::<Vec<_>>();
    let count = chunks().await.len();
    assert!(count > 1, "{count}");
    assert_eq!(expiry(&chunks().await), vec![Some(at(1)); count]);

    memory.patch(&lin(), &[id], RecordPatch::default().pinned(true)).await.unwrap();
    assert_eq!(expiry(&chunks().await), vec![None; count], "a pinned turn does not expire, nor do its chunks");
    assert!(chunks().await.iter().all(|chunk| !chunk.pinned));
    test_db.clock.advance(2 * HOUR);
    assert_eq!(memory.deletion().delete_expired().await.unwrap().total(), 0);
    let patch = RecordPatch::default().pinned(false).expires_at(at(9));
    assert_eq!(memory.patch(&lin(), &[id], patch).await.unwrap(), 1);
    assert_eq!(expiry(&chunks().await), vec![Some(at(9)); count]);
    memory.patch(&lin(), &[id], RecordPatch::default().never_expires()).await.unwrap();
    assert_eq!(expiry(&chunks().await), vec![None; count]);
}

pub(crate) async fn a_pinned_fact_is_not_superseded_by_rules(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    memory.remember(&story(None), message(1, "I live in Porto.")).await.unwrap();
    drain(&memory).await;
    let fact = memory.facts(&lin()).await.unwrap()[0].id;
    memory.patch(&lin(), &[fact], RecordPatch::default().pinned(true)).await.unwrap();
    memory.remember(&story(None), message(2, "I moved to Lisbon.")).await.unwrap();
    drain(&memory).await;
    assert_eq!(facts(&memory).await, ["Porto", "Lisbon"], "both hold, until a person decides");
    memory.patch(&lin(), &[fact], RecordPatch::default().pinned(false)).await.unwrap();
    memory.remember(&story(None), message(3, "I like tea.")).await.unwrap();
    drain(&memory).await;
    let porto = memory.get(&lin(), fact).await.unwrap().unwrap();
    assert_eq!(porto.state, State::Superseded, "unpinned, it is superseded at the next extraction");
}

pub(crate) async fn pinned_records_are_part_of_every_context(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let allergy = memory.remember(&lin(), Turn::note("Lin is allergic to peanuts").pinned()).await.unwrap();
    memory.remember(&lin(), Turn::note("Lin collects stamps from Peru")).await.unwrap();
    memory.remember(&Scope::user("mo").unwrap(), Turn::note("Mo fears spiders").pinned()).await.unwrap();
    let context = memory.context(&lin(), "Which film shall we watch?").await.unwrap();
    assert!(context.text.contains("allergic to peanuts"), "{}", context.text);
    assert!(!context.text.contains("stamps") && !context.text.contains("spiders"), "{}", context.text);
    assert_eq!(context.records, [allergy]);

    let injector = Injector::new(memory.clone());
    for text in ["吃饭了吗", "Good morning!", "Do you remember my stamps?"] {
        let message = IncomingMessage { round: 3, scene: "daily", text };
        let injection = injector.inject(&lin(), &message).await;
        assert_eq!(injection.text.matches("allergic to peanuts").count(), 1, "{text}: {}", injection.text);
        assert!(!injection.text.contains("spiders"));
    }
    let message = IncomingMessage { round: 3, scene: "daily", text: "Good morning!" };
    let injection = injector.inject_into(&lin(), &message, &["Lin is allergic to peanuts"]).await;
    assert_eq!(injection.text, "", "the conversation contains it already");

    let opening = OpeningContext::load(&memory, &lin(), None).await.unwrap();
    let opening = opening.render(500, memory.settings().clock().now(), &TimeZone::UTC, &EstimatedTokens).unwrap();
    assert_eq!(opening.text.matches("allergic to peanuts").count(), 1, "{}", opening.text);
    assert!(opening.text.contains("[Pinned]"), "{}", opening.text);

    memory.patch(&lin(), &[allergy], RecordPatch::default().pinned(false)).await.unwrap();
    let message = IncomingMessage { round: 3, scene: "daily", text: "Good morning!" };
    assert_eq!(injector.inject(&lin(), &message).await.text, "");
}

pub(crate) async fn pinned_records_leave_room_for_relevant_ones(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    for n in 0..30 {
        let note = format!("Pinned remark {n}: {}", "the rules of the house are many and long. ".repeat(4));
        memory.remember(&lin(), Turn::note(note).pinned().at(at(0))).await.unwrap();
    }
    memory.remember(&lin(), Turn::note("The spare key is under the green pot")).await.unwrap();
    let message = IncomingMessage { round: 3, scene: "daily", text: "Where is the spare key?" };
    let injection = Injector::new(memory.clone()).inject(&lin(), &message).await;
    assert!(injection.text.contains("green pot"), "{}", injection.text);
    assert!(injection.text.contains("Pinned remark"), "{}", injection.text);
    let context = memory.context(&lin(), "Where is the spare key?").await.unwrap();
    assert!(context.text.contains("green pot") && context.text.contains("Pinned remark"), "{}", context.text);
}

pub(crate) async fn a_pinned_record_is_no_near_duplicate(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let mut ids: Vec<RecordId> = Vec::new();
    for (n, text) in ["The dentist is on Friday at nine", "The dentist is on Friday at nine!"].iter().enumerate() {
        ids.push(memory.remember(&lin(), Turn::note(*text).at(at(n as u64))).await.unwrap());
    }
    let repeats = async || {
        let hits = memory.recall(&lin(), "When is the dentist?").await.unwrap().hits;
        hits.iter().filter(|hit| hit.repeats.is_some()).map(|hit| hit.record.id).collect::<Vec<_>>()
    };
    let repeated = repeats().await;
    assert_eq!(repeated.len(), 1, "one of the two repeats the other");
    memory.patch(&lin(), &repeated, RecordPatch::default().pinned(true)).await.unwrap();
    assert!(!repeats().await.contains(&repeated[0]));
}

pub(crate) async fn importance_takes_part_in_ranking(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let first = memory.remember(&lin(), Turn::note("Meeting with the notary in Braga")).await.unwrap();
    let second = memory.remember(&lin(), Turn::note("Meeting with the baker in Braga")).await.unwrap();
    let order = async |weight: f64| {
        let options = RecallOptions::default().with_importance_weight(weight).with_diversity(0.0);
        let query = RecallQuery::new("meeting in Braga").with_options(options);
        memory.recall(&lin(), query).await.unwrap().hits.iter().map(|hit| hit.record.id).collect::<Vec<_>>()
    };
    for (important, other) in [(first, second), (second, first)] {
        memory.patch(&lin(), &[important], RecordPatch::default().importance(1.0)).await.unwrap();
        memory.patch(&lin(), &[other], RecordPatch::default().importance(0.0)).await.unwrap();
        assert_eq!(order(0.2).await[0], important);
    }
    let unweighted = order(0.0).await;
    memory.patch(&lin(), &[first, second], RecordPatch::default().importance(0.5)).await.unwrap();
    assert_eq!((order(0.0).await, order(0.2).await), (unweighted.clone(), unweighted), "0.5 changes nothing");
    let error = memory.patch(&lin(), &[first], RecordPatch::default().importance(7.0)).await.unwrap_err();
    assert!(error.to_string().contains("from 0 to 1"), "{error}");
    let error = memory.patch(&lin(), &[first], RecordPatch::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let unknown = RecordId::new();
    let error = memory.patch(&lin(), &[first, unknown], RecordPatch::default().pinned(true)).await.unwrap_err();
    assert!(error.to_string().contains(&unknown.to_string()), "{error}");
    assert!(!memory.get(&lin(), first).await.unwrap().unwrap().pinned, "all or none");
    let elsewhere = Scope::user("mo").unwrap();
    let error = memory.patch(&elsewhere, &[first], RecordPatch::default().pinned(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub(crate) async fn recall_leaves_out_what_is_no_longer_valid(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let mut offer = Record::new(lin(), Kind::NOTE, "The museum is free for visitors", memory.settings().clock());
    offer.valid_until = Some(at(5));
    let id = offer.id;
    memory.store(&lin(), vec![offer], PutMode::Create).await.unwrap();
    let question = || RecallQuery::new("Is the museum free?");
    let count = async |query: RecallQuery| memory.recall(&lin(), query).await.unwrap().hits.len();
    assert_eq!(count(question()).await, 1);
    test_db.clock.advance(5 * HOUR);
    assert_eq!(count(question()).await, 0);
    assert_eq!(count(question().asked_at(at(2), TimeZone::UTC)).await, 1, "it was valid when the question was asked");
    let why = memory.admin().explain(&lin(), question(), id).await.unwrap();
    assert_eq!(why.verdict, Verdict::Ended { valid_until: at(5) });
    let options = RecallOptions::default().with_include_ended(true);
    assert_eq!(count(question().with_options(options)).await, 1);
    assert!(memory.get(&lin(), id).await.unwrap().is_some(), "it is not deleted");
}

pub(crate) async fn everything_is_forgotten_with_expired_records(test_db: TestDatabase) {
    let memory = test_db.open().await;
    memory.remember(&lin(), Turn::user("a code").with_time_to_live(HOUR)).await.unwrap();
    test_db.clock.advance(HOUR);
    assert_eq!(memory.forget(&lin(), Forget::Everything).await.unwrap().records(), 1);
}
