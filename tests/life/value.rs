//! A deletion by text: what a person has said about one thing, however it is written, is gone from every record.

use std::sync::Arc;
use std::sync::Mutex;

use memory_engine::{
    EnrichmentOptions, ErrorKind, Forget, ForgetText, Kind, MemoryEngine, PutMode, Record, RecordId, ScanQuery, Scope,
    State, Turn,
    certificate::{CertificateKey, DeletionTarget, SearchExtent},
    graph::RuleExtractor,
};

use crate::fixtures::{NOON, TestDatabase, derived_record, lin, story};

/// Six spellings of one telephone number, each in a message.
const CALLS: [&str; 6] = [
    "Aunt Ottilie's new line is (0471) 882-3390, call after six.",
    "04718823390 is what she gave me",
    "欧阳姨的电话改成０４７１－８８２－３３９０了，晚上六点以后打。",
    "她说“0471 8823390”，我记下了。",
    "note: 0471.882.3390",
    "Ottilie: 0471/8823390",
];
/// Other numbers, which stay.
const OTHERS: [&str; 3] =
    ["The dentist has 0471 882 3391.", "门牌是0471号，订单882，房间3390。", "0471 and 882 and 3390 are three numbers"];
const NUMBER: &str = "0471 882 3390";

async fn open(test_db: &TestDatabase) -> MemoryEngine {
    let rules = EnrichmentOptions::rules().unwrap();
    test_db.open_with(|builder| builder.enrichment(rules).graph(Arc::new(RuleExtractor::default()))).await
}

async fn records(memory: &MemoryEngine, scope: &Scope) -> Vec<Record> {
    memory.scan(scope, &ScanQuery::oldest(9999)).await.unwrap().records
}

async fn say_all(memory: &MemoryEngine, scope: &Scope, texts: &[&str]) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for text in texts {
        ids.push(memory.remember(scope, Turn::user(*text)).await.unwrap());
    }
    ids
}

fn number() -> ForgetText {
    ForgetText::new(NUMBER)
}

pub(crate) async fn records_that_contain_a_text_are_deleted(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let mut gone = say_all(&memory, &story(None), &CALLS).await;
    let stays = say_all(&memory, &story(None), &OTHERS).await;
    // In a record that is retracted, in one that is derived from another, and in a text that was corrected.
    memory.history().retract(&story(None), &[gone[1]], "wrong").await.unwrap();
    let note = derived_record(&lin(), Kind::NOTE, "the aunt has a new number", &[gone[0]]);
    gone.push(note.id);
    memory.store(&lin(), vec![note], PutMode::Create).await.unwrap();
    let edited = memory.remember(&story(None), "Her number ends in 0471 882 3390").await.unwrap();
    memory.update(&story(None), edited, "Her number is in the red notebook").await.unwrap();
    gone.push(edited);
    memory.drain(&lin(), |_| ()).await.unwrap();
    // Another user is outside of the scope.
    let mo = Scope::user("mo").unwrap();
    let others = say_all(&memory, &mo, &["我的电话是139 0000 1122"]).await;

    let preview = memory.deletion().preview(&lin(), Forget::Text(number()), 3).await.unwrap();
    assert_eq!((preview.selected_sample.len(), preview.selected["turn"]), (3, 7), "{preview:?}");
    assert!(records(&memory, &lin()).await.len() > 11, "a preview changes nothing");

    let key = CertificateKey::generate().unwrap();
    let deletion = memory.deletion();
    let target = Forget::Text(number());
    let deletion = deletion.forget_with_certificate(&lin(), target, &key, SearchExtent::Database).await.unwrap();
    assert_eq!(deletion.report.records(), preview.records(), "{:?}", deletion.report);
    let certificate = deletion.certificate;
    assert!(certificate.is_clean() && certificate.target == DeletionTarget::Text, "{certificate:?}");
    assert!(gone.iter().all(|id| certificate.records.iter().any(|record| record.id == *id)));

    let left: Vec<RecordId> = records(&memory, &lin()).await.into_iter().map(|record| record.id).collect();
    assert!(gone.iter().all(|id| !left.contains(id)) && stays.iter().all(|id| left.contains(id)), "{left:?}");
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert!(records(&memory, &lin()).await.iter().all(|record| record.state == State::Active));
    assert_eq!(records(&memory, &mo).await[0].id, others[0]);
    // Nothing is left to delete.
    assert_eq!(memory.forget(&lin(), Forget::Text(number())).await.unwrap().records(), 0);
    memory.close().await.unwrap();
    for written in ["04718823390", "882-3390", "8823390", "0471.882.3390"] {
        test_db.assert_no_trace_of(written).await;
    }
}

pub(crate) async fn a_text_is_searched_for_in_the_scope_alone(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let monday = lin().with_session("monday").unwrap();
    say_all(&memory, &monday, &["周杉住在五号楼", "周 杉 is a tree"]).await;
    let elsewhere = say_all(&memory, &story(None), &["周杉搬走了"]).await;
    let report = memory.forget(&monday, Forget::Text(ForgetText::new("周杉"))).await.unwrap();
    assert_eq!((report.records(), records(&memory, &monday).await.len()), (1, 1), "the blanks make two words");
    assert!(memory.get(&lin(), elsewhere[0]).await.unwrap().is_some());
    let forget = async |text: &str| memory.forget(&lin(), Forget::Text(ForgetText::new(text))).await;
    let preview = async |text: &str| memory.deletion().preview(&lin(), Forget::Text(ForgetText::new(text)), 1).await;
    for (text, reason) in [("杉", "at least 3 (2 if all are Chinese)"), ("- 5", "1 characters"), ("", "0 characters")]
    {
        for error in [forget(text).await.unwrap_err(), preview(text).await.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }
    memory.close().await.unwrap();
}

pub(crate) async fn an_interrupted_deletion_by_text_can_be_repeated(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let at = |n: i64| memory_engine::Timestamp::from_micros(NOON - 10_000_000 + n);
    let turns = (0..1300).map(|n| Turn::user(format!("call {n}: 0471 882 3390")).at(at(n))).collect::<Vec<_>>();
    memory.remember_all(&lin(), turns).await.unwrap();
    let scope = lin();
    let mut deletion = Box::pin(memory.forget(&scope, Forget::Text(number())));
    while records(&memory, &lin()).await.len() > 1000 {
        if let std::task::Poll::Ready(finished) = futures::poll!(&mut deletion) {
            panic!("it was not interrupted: {finished:?}");
        }
    }
    drop(deletion);
    let left = records(&memory, &lin()).await.len() as u64;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let deletion = memory.deletion().on_progress(move |done| seen.lock().unwrap().push(done));
    let report = deletion.forget(&lin(), Forget::Text(number())).await.unwrap();
    assert_eq!((report.records(), records(&memory, &lin()).await.len()), (left, 0));
    let steps: Vec<u64> = steps.lock().unwrap().clone();
    assert!(steps.len() > 1 && steps.is_sorted() && steps.last() == Some(&left), "{steps:?}");
    memory.close().await.unwrap();
    test_db.assert_no_trace_of(NUMBER).await;
}

pub(crate) async fn a_text_is_replaced_in_every_record(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let said = say_all(&memory, &story(None), &CALLS).await;
    let stays = say_all(&memory, &story(None), &OTHERS).await;
    let clock = test_db.clock.clone();
    let before = memory_engine::Clock::now(&clock);
    clock.advance(std::time::Duration::from_secs(60));
    memory.update(&story(None), said[3], "她说错了，其实没有电话").await.unwrap();
    let mut notes = [
        derived_record(&lin(), Kind::NOTE, "aunt: 0471 882 3390", &[said[0]]),
        derived_record(&lin(), Kind::NOTE, "the aunt has a new number", &[said[0]]),
    ];
    notes[1].metadata.insert("card".into(), serde_json::json!({ "tel": ["0471-882-3390", 7] }));
    memory.store(&lin(), notes.to_vec(), PutMode::Create).await.unwrap();
    memory.history().retract(&story(None), &[said[1]], "not 0471 882 3390").await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    let ids = async || records(&memory, &lin()).await.iter().map(|record| record.id).collect::<Vec<RecordId>>();
    let ids_before = ids().await;

    let redaction = || Forget::Text(number().with_redact(true));
    let preview = memory.deletion().preview(&lin(), redaction(), 100).await.unwrap();
    let key = CertificateKey::generate().unwrap();
    let deletion = memory.deletion();
    let deletion = deletion.forget_with_certificate(&lin(), redaction(), &key, SearchExtent::Database).await.unwrap();
    assert_eq!((deletion.report.records(), deletion.report.redacted), (0, preview.records()), "{:?}", deletion.report);
    let certificate = deletion.certificate;
    assert!(certificate.is_clean() && certificate.target == DeletionTarget::Redaction, "{certificate:?}");
    assert!(certificate.search.fragments > 6 && certificate.records.is_empty(), "{certificate:?}");

    assert_eq!(ids().await, ids_before, "no record is deleted");
    let text = async |id: RecordId| memory.get(&lin(), id).await.unwrap().unwrap().text;
    assert_eq!(text(said[0]).await, "Aunt Ottilie's new line is [deleted], call after six.");
    assert_eq!(text(said[2]).await, "欧阳姨的电话改成[deleted]了，晚上六点以后打。");
    assert_eq!(text(notes[0].id).await, "aunt: [deleted]");
    for (id, expected) in stays.iter().zip(OTHERS) {
        assert_eq!(text(*id).await, expected);
    }
    // The history has the mark as well.
    let former = memory.history().as_of(before).get_all(&lin(), &[said[3]]).await.unwrap().remove(0).unwrap();
    assert_eq!(former.text, "她说“[deleted]”，我记下了。");
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(ids().await, ids_before, "nothing is derived again");
    let found = crate::fixtures::recalled_texts(&memory, &lin(), "Ottilie's new line").await;
    assert!(found.iter().any(|text| text.contains("[deleted]")), "{found:?}");
    assert_eq!(memory.forget(&lin(), redaction()).await.unwrap().redacted, 0, "a second call finds nothing");
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!((stats.queued.len(), stats.dead_letters.len()), (0, 0), "{stats:?}");
    assert_eq!(memory_engine::admin::check_health(&test_db.database()).await.unwrap().problems, [""; 0]);
    memory.close().await.unwrap();
    for written in ["04718823390", "882-3390", "8823390", "0471.882.3390"] {
        test_db.assert_no_trace_of(written).await;
    }
}

pub(crate) async fn an_interrupted_redaction_can_be_repeated(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let at = |n: i64| memory_engine::Timestamp::from_micros(NOON - 10_000_000 + n);
    let turns = (0..1300).map(|n| Turn::user(format!("第{n}次打0471 882 3390")).at(at(n))).collect::<Vec<_>>();
    memory.remember_all(&lin(), turns).await.unwrap();
    let masked = async || {
        let records = records(&memory, &lin()).await;
        assert_eq!(records.len(), 1300);
        records.iter().filter(|record| record.text.ends_with("次打[deleted]")).count() as u64
    };
    let scope = lin();
    let redaction = || Forget::Text(number().with_redact(true));
    let mut deletion = Box::pin(memory.forget(&scope, redaction()));
    while masked().await == 0 {
        if let std::task::Poll::Ready(finished) = futures::poll!(&mut deletion) {
            panic!("it was not interrupted: {finished:?}");
        }
    }
    drop(deletion);
    let done = masked().await;
    assert!((1..1300).contains(&done), "{done}");
    let report = memory.forget(&lin(), redaction()).await.unwrap();
    assert_eq!((report.redacted, masked().await), (1300 - done, 1300));
    memory.close().await.unwrap();
    test_db.assert_no_trace_of(NUMBER).await;
}

pub(crate) async fn a_value_that_is_kept_out_does_not_come_back(test_db: TestDatabase) {
    let memory = open(&test_db).await;
    let said = say_all(&memory, &story(None), &CALLS[..2]).await;
    let exported = records(&memory, &lin()).await;
    memory.history().retract(&story(None), &[said[1]], "a slip").await.unwrap();
    let target = || Forget::Text(number().with_redact(true).with_keep_out(true));
    let report = memory.forget(&lin(), target()).await.unwrap();
    let entry = report.kept_out.unwrap();
    assert!(report.redacted >= 2, "{report:?}");

    // A repetition, the reply of a model, an import, a batch, a correction, a restored record, and a merge.
    let other =
        MemoryEngine::builder().in_memory().clock(test_db.clock.clone()).background(false).build().await.unwrap();
    other.remember(&story(None), Turn::user("merge: 0471 882 3390").with_message_id("other")).await.unwrap();
    memory
        .remember(&story(None), Turn::user("I repeat, ０４７１－８８２－３３９０").with_message_id("r"))
        .await
        .unwrap();
    let reply = Turn::user("好的，我记住了：04718823390。").with_role(memory_engine::Role::ASSISTANT);
    let reply = memory.remember(&story(None), reply).await.unwrap();
    memory
        .store(&lin(), vec![derived_record(&lin(), Kind::NOTE, "note 0471 882 3390", &[reply])], PutMode::Create)
        .await
        .unwrap();
    let mut old = exported[0].clone();
    old.id = RecordId::new();
    memory.store(&lin(), vec![old, exported[1].clone()], PutMode::Upsert).await.unwrap();
    memory.remember_all(&lin(), vec![Turn::user("batch (0471) 882-3390")]).await.unwrap();
    memory.update(&lin(), reply, "对，0471/8823390").await.unwrap();
    let repeated = Turn::user("I repeat, ０４７１－８８２－３３９０").with_message_id("r");
    let repeated = memory.remember(&story(None), repeated).await.unwrap();
    let repeated = memory.get(&lin(), repeated).await.unwrap().unwrap();
    assert_eq!((repeated.text.as_str(), repeated.revision), ("I repeat, [deleted]", 1), "it changes nothing");
    memory_engine::transfer::Copier::new(&other, &memory).copy(&lin()).await.unwrap();
    other.remember(&story(None), Turn::user("another: 0471 882 3390").with_message_id("merged")).await.unwrap();
    memory_engine::transfer::Merge::new(&other, &memory).merge(&lin()).await.unwrap();
    // A merge in the other direction brings the entry along.
    memory_engine::transfer::Merge::new(&memory, &other).merge(&lin()).await.unwrap();
    let there = other.remember(&story(None), "there: 0471 882 3390").await.unwrap();
    assert_eq!(other.get(&lin(), there).await.unwrap().unwrap().text, "there: [deleted]");
    memory.drain(&lin(), |_| ()).await.unwrap();
    let stored = records(&memory, &lin()).await;
    let masked = stored.iter().filter(|record| record.text.contains("[deleted]")).count();
    assert_eq!(masked, 8, "{stored:#?}");
    assert!(memory.deletion().preview(&lin(), Forget::Text(number()), 1).await.unwrap().records() == 0);

    // It is listed without the value, is in no context, and survives the deletion of everything.
    let listed = memory.deletion().kept_out(&lin()).await.unwrap();
    assert_eq!((listed.len(), listed[0].id, listed[0].length), (1, entry, 11));
    assert_eq!(memory.forget(&lin(), target()).await.unwrap().kept_out, Some(entry), "it is kept out once");
    let context = memory.context(&story(None), "what do you know?").max_tokens(400).await.unwrap();
    assert!(!context.text.contains("kept out"), "{}", context.text);
    memory.forget(&lin(), Forget::Everything).await.unwrap();
    memory.remember(&story(None), "again: 0471 882 3390").await.unwrap();
    // Others may say it, and other texts stay.
    let mo = Scope::user("mo").unwrap();
    let others = say_all(&memory, &mo, &["my key ends in 882 339"]).await;
    assert_eq!(memory.get(&mo, others[0]).await.unwrap().unwrap().text, "my key ends in 882 339");
    memory.close().await.unwrap();
    for written in ["04718823390", "8823390", "882-3390"] {
        test_db.assert_no_trace_of(written).await;
    }
    // Another process masks it, until the entry is forgotten.
    let memory = open(&test_db).await;
    let turn = memory.remember(&story(None), "and again: 0471 882 3390").await.unwrap();
    assert_eq!(memory.get(&lin(), turn).await.unwrap().unwrap().text, "and again: [deleted]");
    assert_eq!(memory.forget(&lin(), entry).await.unwrap().records(), 1);
    assert!(memory.deletion().kept_out(&lin()).await.unwrap().is_empty());
    let turn = memory.remember(&story(None), "at last: 0471 882 3390").await.unwrap();
    assert_eq!(memory.get(&lin(), turn).await.unwrap().unwrap().text, "at last: 0471 882 3390");
    memory.close().await.unwrap();
}

pub(crate) async fn a_value_is_kept_out_of_its_scope_alone(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let target = |scope: Scope| {
        let memory = memory.clone();
        async move { memory.forget(&scope, Forget::Text(ForgetText::new("周杉").with_keep_out(true))).await }
    };
    target(story(None)).await.unwrap();
    let text = async |scope: &Scope, text: &str| {
        let id = memory.remember(scope, text).await.unwrap();
        memory.get(scope, id).await.unwrap().unwrap().text
    };
    assert_eq!(text(&story(None), "周杉来了").await, "[deleted]来了");
    assert_eq!(text(&lin().with_session("monday").unwrap(), "周杉来了").await, "周杉来了");
    assert_eq!(text(&Scope::user("mo").unwrap(), "周杉来了").await, "周杉来了");
    let error = target(Scope::tenant_wide(lin().tenant()).unwrap()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains("name the user"), "{error}");
    memory.close().await.unwrap();
}

pub(crate) async fn a_redacted_text_does_not_come_back_with_its_message(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let say = async |text: &str| memory.remember(&story(None), Turn::user(text).with_message_id("m1")).await.unwrap();
    let said = [CALLS[0], "Ottilie's line, corrected: 0471 882 3390"];
    let id = say(said[0]).await;
    memory.update(&story(None), id, said[1]).await.unwrap();
    memory.forget(&lin(), Forget::Text(number().with_redact(true))).await.unwrap();
    let text = async || memory.get(&lin(), id).await.unwrap().unwrap().text;
    for repeated in said {
        assert_eq!(say(repeated).await, id);
        assert_eq!(text().await, "Ottilie's line, corrected: [deleted]");
    }
    let error = memory.update(&story(None), id, said[0]).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("redacted"), "{error}");
    // Nor does a merge with a store in which the text was changed more often.
    let other =
        MemoryEngine::builder().in_memory().clock(test_db.clock.clone()).background(false).build().await.unwrap();
    for text in [said[1], "Ottilie has a telephone", said[1], "Ottilie, again", said[0]] {
        other.remember(&story(None), Turn::user(text).with_message_id("m1")).await.unwrap();
    }
    memory_engine::transfer::Merge::new(&other, &memory).merge(&lin()).await.unwrap();
    assert_eq!(text().await, "Ottilie's line, corrected: [deleted]");
    // After an edit of the client, too.
    say("Ottilie moved to Graz").await;
    say(said[0]).await;
    assert_eq!(text().await, "Ottilie moved to Graz");
    let mut imported = derived_record(&lin(), Kind::TURN, said[0], &[]);
    imported.trust = memory_engine::Trust::Import;
    let written = memory.store(&lin(), vec![imported], PutMode::Upsert).await.unwrap();
    assert!(matches!(written[0].outcome, memory_engine::Outcome::Blocked(_)), "{written:?}");
    assert_eq!(memory_engine::admin::check_health(&test_db.database()).await.unwrap().problems, [""; 0]);
    memory.close().await.unwrap();
    test_db.assert_no_trace_of("882-3390").await;
}

pub(crate) async fn a_value_is_kept_out_of_the_writes_of_another_process(test_db: TestDatabase) {
    let [memory, other] = [test_db.open().await, test_db.open().await];
    let keep_out =
        async || memory.forget(&story(None), Forget::Text(number().with_redact(true).with_keep_out(true))).await;
    let texts = async || records(&memory, &lin()).await.into_iter().map(|record| record.text).collect::<Vec<_>>();
    // The other process has read that there is no entry.
    other.remember(&story(None), "hello").await.unwrap();
    // The first call ends while it waits for the other process. The second one finds the entry.
    let mut first = Box::pin(keep_out());
    while memory.deletion().kept_out(&lin()).await.unwrap().is_empty() {
        assert!(futures::poll!(&mut first).is_pending());
    }
    drop(first);
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        other.remember(&story(None), Turn::user(CALLS[1])).await.unwrap();
    };
    let (report, ()) = futures::join!(keep_out(), late);
    let entry = report.unwrap().kept_out.unwrap();
    assert!(texts().await.iter().all(|text| !text.contains("0471882")), "{:?}", texts().await);
    // Once the other process has deleted the entry, another call makes a new one.
    memory.remember(&story(None), "hello again").await.unwrap();
    other.forget(&lin(), entry).await.unwrap();
    let entry_again = keep_out().await.unwrap().kept_out;
    let listed = other.deletion().kept_out(&lin()).await.unwrap();
    assert_eq!(listed.iter().map(|kept_out| Some(kept_out.id)).collect::<Vec<_>>(), [entry_again]);
    assert_ne!(entry_again, Some(entry));
    memory.close().await.unwrap();
    other.close().await.unwrap();
}
