//! Retractions (R9, R11).

use memory_engine::{ErrorKind, Kind, PutMode, RecordId, State, Turn, history::Rewind};

use crate::fixtures::{TestDatabase, derived_record, lin, message, recalled_texts, story};

pub(crate) async fn r9_rewound_session_can_be_restored(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let mut ids = Vec::new();
    for (sequence, text) in [(1, "the bridge stands"), (2, "the bridge burns"), (3, "the bridge falls")] {
        ids.push(memory.remember(&story(None), message(sequence, text)).await.unwrap());
    }
    memory.remember(&story(Some("other")), message(9, "a bridge elsewhere")).await.unwrap();
    let early = derived_record(&story(None), Kind::SUMMARY, "bridge, early", &ids[..1]);
    let late = derived_record(&story(None), Kind::SUMMARY, "bridge, all of it", &ids);
    let moment = derived_record(&lin(), Kind::KEY_MOMENT, "the fall of the bridge", &ids[2..]);
    memory.store(&lin(), vec![early, late, moment], PutMode::Create).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();

    let retraction = memory.history().rewind(&story(None), Rewind::To(1)).await.unwrap();
    assert_eq!(retraction.records.len(), 4, "two messages, a summary and a moment");
    let remaining = ["a bridge elsewhere", "bridge, early", "the bridge stands"];
    assert_eq!(recalled_texts(&memory, &lin(), "bridge").await, remaining);
    drop(memory);
    let memory = test_db.open().await;
    assert_eq!(recalled_texts(&memory, &lin(), "bridge").await, remaining, "it stays away after a restart");
    memory.admin().reindex(&lin()).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(recalled_texts(&memory, &lin(), "bridge").await, remaining, "and after the indexes are made anew");

    let listed = memory.history().retractions(&story(None), 9).await.unwrap();
    assert_eq!((listed.len(), listed[0].id, listed[0].records.len()), (1, retraction.id, 4));
    assert_eq!(memory.history().restore(&story(None), retraction.id).await.unwrap(), 4);
    assert_eq!(recalled_texts(&memory, &lin(), "bridge").await.len(), 7);
    assert_eq!(memory.history().retractions(&lin(), 9).await.unwrap(), []);
    let again = memory.history().restore(&story(None), retraction.id).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotFound);
    assert_eq!(memory.history().restore(&lin(), RecordId::new()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

pub(crate) async fn r9_rewind_includes_derived_records(test_db: TestDatabase) {
    let memory = test_db.open().await;
    memory.remember(&story(None), message(1, "one lantern")).await.unwrap();
    let second = memory.remember(&story(None), message(2, "two lanterns")).await.unwrap();
    let fact = derived_record(&lin(), Kind::FACT, "there are two lanterns", &[second]);
    memory.store(&lin(), vec![fact], PutMode::Create).await.unwrap();
    memory.history().rewind(&story(None), Rewind::Last(1)).await.unwrap();
    assert_eq!(recalled_texts(&memory, &lin(), "lantern").await, ["one lantern"]);
    memory.history().rewind(&story(None), Rewind::Last(5)).await.unwrap();
    let nothing = memory.history().rewind(&story(None), Rewind::Last(1)).await.unwrap();
    assert_eq!(nothing.records, []);
    assert_eq!(memory.history().retractions(&lin(), 9).await.unwrap().len(), 2, "nothing was noted of the last");
}

pub(crate) async fn r11_retraction_includes_derived_records(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let wrong = memory.remember(&story(None), "Lin eats seafood").await.unwrap();
    memory.remember(&story(None), "Lin is allergic to seafood").await.unwrap();
    let fact = derived_record(&lin(), Kind::FACT, "likes seafood", &[wrong]);
    let profile = derived_record(&lin(), Kind::PROFILE, "a friend of seafood", &[fact.id]);
    let ids = [wrong, fact.id, profile.id];
    memory.store(&lin(), vec![fact, profile], PutMode::Create).await.unwrap();
    let retraction = memory.history().retract(&story(None), &[wrong], "Mo said so, not Lin").await.unwrap();
    assert_eq!((retraction.reason.as_str(), retraction.records.len()), ("Mo said so, not Lin", 3));
    assert_eq!(recalled_texts(&memory, &lin(), "seafood").await, ["Lin is allergic to seafood"]);
    for record in memory.get_all(&lin(), &ids).await.unwrap() {
        assert_eq!(record.unwrap().state, State::Revoked, "it is kept");
    }
    let mo = memory_engine::Scope::user("mo").unwrap();
    assert_eq!(
        memory.history().retract(&mo, &ids, "not his").await.unwrap().records,
        [],
        "nobody reaches another's memories"
    );
}

pub(crate) async fn r9_restore_keeps_later_changes(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let gone = memory.remember(&story(None), message(1, "a red door")).await.unwrap();
    let correct = memory.remember(&story(None), message(2, "a blue door")).await.unwrap();
    let retraction = memory.history().retract(&lin(), &[gone, correct], "test").await.unwrap();
    memory.forget(&lin(), gone).await.unwrap();
    memory.remember(&story(None), message(2, "a green door")).await.unwrap();
    memory.remember(&story(None), Turn::user("no door at all")).await.unwrap();
    assert_eq!(memory.history().restore(&lin(), retraction.id).await.unwrap(), 0);
    assert_eq!(recalled_texts(&memory, &lin(), "door").await, ["a green door", "no door at all"]);
    assert_eq!(memory.get(&lin(), gone).await.unwrap(), None, "what was deleted does not come back");

    // Taken back twice, it comes back with the second retraction only.
    let first = memory.history().retract(&lin(), &[correct], "first").await.unwrap();
    memory.remember(&story(None), message(2, "a green gate")).await.unwrap();
    let second = memory.history().retract(&lin(), &[correct], "second").await.unwrap();
    assert_eq!(memory.history().restore(&lin(), first.id).await.unwrap(), 0);
    assert_eq!(recalled_texts(&memory, &lin(), "green").await, [""; 0]);
    assert_eq!(memory.history().restore(&lin(), second.id).await.unwrap(), 1);
    let back = memory.get(&lin(), correct).await.unwrap().unwrap();
    assert_eq!(back.text, "a green gate");
    assert!(!back.metadata.contains_key("retraction"), "no mark is left on it: {:?}", back.metadata);
}

pub(crate) async fn r11_resent_message_stays_retracted(test_db: TestDatabase) {
    let digest = memory_engine::EnrichmentOptions::rules().unwrap();
    let memory = test_db.open_with(|builder| builder.enrichment(digest)).await;
    let send = async || memory.remember(&story(None), message(1, "今天不太开心，在虹桥火车站等小王")).await.unwrap();
    let id = send().await;
    memory.drain(&lin(), |_| ()).await.unwrap();
    let known = memory.get(&lin(), id).await.unwrap().unwrap();
    assert!(known.emotion.is_some());
    assert_eq!(send().await, id);
    let again = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!((again.emotion, again.entities), (known.emotion, known.entities));
    memory.history().retract(&lin(), &[id], "not Lin's").await.unwrap();
    assert_eq!(send().await, id);
    assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().state, State::Revoked);
}

pub(crate) async fn r9_text_equal_to_a_deleted_one_can_be_retracted(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let mut ids = Vec::new();
    for session in ["a", "b"] {
        let mut record = derived_record(&lin().with_session(session).unwrap(), Kind::TURN, "a plain yes", &[]);
        record.trust = memory_engine::Trust::Import;
        ids.push(record.id);
        memory.store(&lin(), vec![record], PutMode::Create).await.unwrap();
    }
    memory.forget(&lin(), ids[0]).await.unwrap();
    memory.history().retract(&lin(), &ids[1..], "neither").await.unwrap();
    assert_eq!(recalled_texts(&memory, &lin(), "a plain yes").await, [""; 0]);
}
