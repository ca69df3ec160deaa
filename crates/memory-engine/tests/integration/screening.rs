//! Secrets are masked or refused before they are stored, and found and masked in what is stored.

use std::{fs, path::Path};

use futures::{FutureExt, stream};
use memory_engine::{
    EnrichmentOptions, ErrorKind, Forget, ForgetText, Kind, MemoryEngine, PutMode, Record, Scope, State, SystemClock,
    Turn,
    embed::{DefaultEmbedder, Embedder},
    graph::RuleExtractor,
    recall::Retrievers,
    screening::{Category, RecordField, ScreeningAction, ScreeningPolicy},
    store::{Stores, Write},
};
use serde_json::{Value, json};

use crate::given::{Backend, lin};

const PASSWORD: &str = "Kestrel-90417x";
const MASK: &str = "[redacted: en-password]";

fn policy_off() -> ScreeningPolicy {
    ScreeningPolicy::uniform(ScreeningAction::Store)
}

/// Returns a record with a password in each screened field.
fn record_with_passwords() -> Record {
    let text = |field: &str| format!("{field} password: {PASSWORD}");
    let mut record = Record::new(lin(), Kind::NOTE, text("The text's"), &SystemClock);
    record.speaker = Some(text("Lin,"));
    record.topic = Some(text("Topic,"));
    record.tags = vec!["work".into(), text("tag")];
    record.entities = vec![text("entity")];
    record.metadata.insert("note".into(), json!({ "list": [1, text("list")], "wifi": { "password": PASSWORD } }));
    record
}

#[tokio::test]
async fn credentials_are_masked_in_every_field() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let record = record_with_passwords();
        let id = record.id;
        memory.store(&lin(), vec![record], PutMode::Upsert).await.unwrap();
        let stored = memory.get(&lin(), id).await.unwrap().unwrap();
        let json = serde_json::to_string(&stored).unwrap();
        assert!(!json.contains(PASSWORD), "{json}");
        assert_eq!(stored.text, format!("The text's password: {MASK}"));
        assert_eq!(stored.tags[0], "work");
        let wifi = &stored.metadata["note"]["wifi"]["password"];
        assert!(wifi.as_str().unwrap().starts_with("[redacted: "), "{wifi}");
        let by_password = memory.recall(&lin(), PASSWORD).await.unwrap();
        assert!(by_password.hits.is_empty(), "no term of the password is indexed");
    }
}

#[tokio::test]
async fn chinese_text_is_masked_and_personal_data_is_stored_by_default() {
    let memory = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let text = async |text: &str| {
        let id = memory.remember(&lin(), text).await.unwrap();
        memory.get(&lin(), id).await.unwrap().unwrap().text
    };
    assert_eq!(text("我的密码是tiger4711，记一下").await, "我的密码是[redacted: zh-password]，记一下");
    assert_eq!(text("我的手机号是13812345678").await, "我的手机号是13812345678");
    assert_eq!(text("我又忘记密码了").await, "我又忘记密码了");
}

#[tokio::test]
async fn a_refused_record_is_named_and_nothing_is_stored() {
    let policy = ScreeningPolicy::default().with(Category::Password, ScreeningAction::Refuse);
    for backend in Backend::all() {
        let memory = backend.builder().background(false).screening(policy.clone()).build().await.unwrap();
        let turns = ["hello", "The wifi password is tiger4711.", "bye"];
        let error = memory.remember_all(&lin(), turns).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("screening rule en-password"), "{error}");
        assert!(!error.to_string().contains("tiger"), "{error}");
        assert_eq!(memory.stats(&lin()).await.unwrap().records, 0);

        let records = turns.map(|text| Record::new(lin(), Kind::NOTE, text, &SystemClock));
        let writes = records.map(memory_engine::store::Write::upsert);
        let error = memory.admin().write(&lin(), writes.to_vec()).await.unwrap_err();
        assert!(error.to_string().contains("screening rule en-password"), "{error}");

        let report = memory.import(&lin(), stream::iter(turns.map(Turn::user))).run().await.unwrap();
        assert_eq!((report.created, report.failed, report.failures[0].index), (2, 1, 1));
    }
}

#[tokio::test]
async fn a_retracted_turn_that_is_sent_again_stays_retracted() {
    let memory = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let turn = || Turn::user("The wifi password is tiger4711.").with_message_id("m1");
    let id = memory.remember(&lin(), turn()).await.unwrap();
    assert_eq!(memory.remember(&lin(), turn()).await.unwrap(), id);

    memory.history().retract(&lin(), &[id], "wrong").await.unwrap();
    memory.remember(&lin(), turn()).await.unwrap();
    memory.remember_all(&lin(), [turn()]).await.unwrap();
    assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().state, State::Revoked);
}

#[tokio::test]
async fn updates_are_screened() {
    let memory = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let id = memory.remember(&lin(), "The wifi password is unknown to me").await.unwrap();
    for _ in 0..2 {
        memory.update(&lin(), id, "The wifi password is tiger4711.").await.unwrap();
    }
    let record = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!(record.text, format!("The wifi password is {MASK}."));
    assert_eq!(record.metadata["edits"].as_array().map(Vec::len), Some(1), "the second update changes nothing");
}

#[tokio::test]
async fn a_scan_names_rules_and_records_and_redacts_them() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).screening(policy_off()).build().await.unwrap();
        let secret = record_with_passwords();
        let id = secret.id;
        let card = "Her Visa is 4539657472916880";
        memory.store(&lin(), vec![secret], PutMode::Upsert).await.unwrap();
        let card_id = memory.remember(&lin(), card).await.unwrap();
        memory.remember(&lin(), "nothing to see").await.unwrap();
        let other = Scope::user("mo").unwrap();
        let other_id = memory.remember(&other, format!("password: {PASSWORD}")).await.unwrap();

        let report = memory.screening().scan(&lin()).run().await.unwrap();
        assert_eq!((report.scanned, report.found, report.redacted), (3, 1, 0));
        assert_eq!((report.records[0].id, &report.records[0].kind), (id, &Kind::NOTE));
        assert!(report.records[0].fields.contains(&RecordField::Metadata));
        assert!(!serde_json::to_string(&report).unwrap().contains("90417"));
        assert!(memory.get(&lin(), id).await.unwrap().unwrap().text.contains(PASSWORD), "a scan changes nothing");

        let report = memory.screening().scan(&lin()).redact(true).run().await.unwrap();
        assert_eq!((report.found, report.redacted), (1, 1));
        let json = serde_json::to_string(&memory.get(&lin(), id).await.unwrap().unwrap()).unwrap();
        assert!(!json.contains(PASSWORD), "{json}");
        assert_eq!(memory.screening().scan(&lin()).run().await.unwrap().found, 0);
        assert_eq!(memory.get(&lin(), card_id).await.unwrap().unwrap().text, card);
        let cards = memory.screening().scan(&lin()).categories([Category::Card]).run().await.unwrap();
        assert_eq!((cards.found, cards.records[0].id), (1, card_id));
        let others = memory.get(&other, other_id).await.unwrap().unwrap();
        assert!(others.text.contains(PASSWORD), "another user's record is outside of the scope");
    }
}

/// Returns the files in a folder that contain one of the texts.
fn files_with(folder: &Path, texts: &[&str]) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let contains = |path: &Path| {
        let bytes = fs::read(path).unwrap().to_ascii_lowercase();
        texts.iter().any(|text| {
            let text = text.to_ascii_lowercase();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    };
    files.filter(|path| contains(path)).map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// A long turn with the password in the middle, so that chunks are derived from it.
fn long_text() -> String {
    let sentence = "We walked along the river in Porto and talked about the harvest and the weather of the year. ";
    let middle = format!("I live in Porto. My password is {PASSWORD}. ");
    format!("{}{middle}{}", sentence.repeat(30), sentence.repeat(30))
}

#[tokio::test]
async fn redaction_leaves_no_bytes_in_the_database_and_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let options = EnrichmentOptions::rules().unwrap();
    let builder = MemoryEngine::builder().sqlite(folder.path().join("memory.db")).background(false);
    let builder = builder.enrichment(options).graph(RuleExtractor::default()).screening(policy_off());
    let memory = builder.build().await.unwrap();
    for text in [long_text(), format!("服务器的密码是{PASSWORD}"), "We had tea".to_owned()] {
        memory.remember(&lin(), text).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    let chunks = async || memory.stats(&lin()).await.unwrap().kinds.get("chunk").copied().unwrap_or_default();
    let before = chunks().await;
    assert!(before > 1, "chunks are derived");
    assert!(!files_with(folder.path(), &[PASSWORD]).is_empty());

    let report = memory.screening().scan(&lin()).redact(true).run().await.unwrap();
    assert!(report.redacted >= 2, "{report:?}");
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert!(chunks().await > 1, "chunks are derived again");
    let hits = memory.recall(&lin(), "harvest weather river").await.unwrap().hits;
    assert!(hits.iter().any(|hit| hit.record.text.contains("harvest")), "the rest of the text is found");

    assert_eq!(files_with(folder.path(), &[PASSWORD, "90417"]), Vec::<String>::new());
}

#[tokio::test]
async fn redaction_leaves_no_bytes_in_the_caches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let builder = || {
        let options = EnrichmentOptions::rules().unwrap();
        let builder = MemoryEngine::builder().sqlite(&path).background(false).enrichment(options);
        builder.graph(RuleExtractor::default()).screening(policy_off())
    };
    let memory = builder().build().await.unwrap();
    memory.remember(&lin(), long_text()).await.unwrap();
    memory.remember(&lin(), format!("服务器的密码是{PASSWORD}")).await.unwrap();
    // More records than an index cache needs at least.
    let notes = (0..8_100).map(|n| Turn::user(format!("note {n} about w{}", n % 50)));
    memory.import(&lin(), stream::iter(notes)).run().await.unwrap();
    memory
        .recall(&lin(), memory_engine::RecallQuery::new("river").with_retrievers(Retrievers::KeywordOnly))
        .await
        .unwrap();
    memory.close().await.unwrap();
    drop(memory);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.len() > 1, "the index has a cache: {names:?}");
    assert!(!files_with(folder.path(), &[PASSWORD]).is_empty());

    let memory = builder().build().await.unwrap();
    let report = memory.screening().scan(&lin()).redact(true).run().await.unwrap();
    assert_eq!(report.redacted, 2, "{report:?}");
    assert_eq!(files_with(folder.path(), &[PASSWORD, "90417"]), Vec::<String>::new());
    memory.close().await.unwrap();
    assert_eq!(files_with(folder.path(), &[PASSWORD, "90417"]), Vec::<String>::new());
}

#[tokio::test]
async fn findings_serialize_without_values() {
    let memory = MemoryEngine::builder().in_memory().screening(policy_off()).build().await.unwrap();
    memory.remember(&lin(), "password: tiger4711").await.unwrap();
    let report: Value = serde_json::to_value(memory.screening().scan(&lin()).run().await.unwrap()).unwrap();
    assert_eq!(report["rules"]["en-password"], 1);
    assert_eq!(report["records"][0]["fields"], json!(["text"]));
}

#[tokio::test]
async fn a_write_behind_the_scan_for_a_text_that_is_kept_out_is_found() {
    let stores = Stores::in_memory(DefaultEmbedder::default().space().clone());
    let store = stores.records.clone();
    let memory = MemoryEngine::builder().stores(stores).background(false).build().await.unwrap();
    let first = memory.remember(&lin(), "我的护照号是K88213907").await.unwrap();
    // Another process has screened this record before. It is committed when the first page is done.
    let mut late = Record::new(lin(), Kind::TURN, "passport: k-8821-3907", &SystemClock);
    late.occurred_at = memory_engine::Timestamp::from_micros(7);
    let (late_id, committed) = (late.id, std::sync::Mutex::new(Some(late)));
    let commit = move |_| {
        let Some(late) = committed.lock().unwrap().take() else { return };
        let written = store.put(&lin(), vec![Write::new(late, PutMode::Create)]).now_or_never();
        written.unwrap().unwrap();
    };
    let target = Forget::Text(ForgetText::new("K88213907").with_redact(true).with_keep_out(true));
    let report = memory.deletion().on_progress(commit).forget(&lin(), target).await.unwrap();
    assert_eq!(report.redacted, 2);
    for (id, expected) in [(first, "我的护照号是[deleted]"), (late_id, "passport: [deleted]")] {
        assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().text, expected);
    }
}
