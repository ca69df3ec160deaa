//! Profiles of users (A4).

use std::sync::Arc;

use memory_engine::{
    EnrichmentOptions, Field, Filter, Kind, MemoryEngine, Record, ScanQuery, State, Turn,
    history::Rewind,
    llm::{ChatModel, ScriptedModel},
};

use crate::fixtures::{TestDatabase, lin, message, recalled_texts, story};

async fn open_with_options(test_db: &TestDatabase, digest: EnrichmentOptions) -> MemoryEngine {
    test_db.open_with(|builder| builder.enrichment(digest.with_profile(4))).await
}

async fn by_rules(test_db: &TestDatabase) -> MemoryEngine {
    open_with_options(test_db, EnrichmentOptions::rules().unwrap()).await
}

/// Says these things one after the other, beginning with this number.
async fn say(memory: &MemoryEngine, first: i64, texts: &[&str]) {
    for (sequence, text) in (first..).zip(texts) {
        memory.remember(&story(None), message(sequence, text)).await.unwrap();
    }
    drain(memory).await;
}

async fn drain(memory: &MemoryEngine) {
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(memory.admin().failures(&lin(), 9).await.unwrap(), []);
}

async fn profiles(memory: &MemoryEngine) -> Vec<Record> {
    let filter = Filter::eq(Field::Kind, Kind::PROFILE.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
    memory.scan(&lin(), &ScanQuery::oldest(9).with_filter(filter)).await.unwrap().records
}

async fn the_profile(memory: &MemoryEngine) -> Record {
    let mut profiles = profiles(memory).await;
    assert_eq!(profiles.len(), 1, "{profiles:?}");
    profiles.remove(0)
}

pub(crate) async fn a4_profile_contains_facts_and_latest_messages(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    say(&memory, 1, &["Call me Ray.", "I'm allergic to walnuts.", "I live in Porto."]).await;
    assert_eq!(profiles(&memory).await, [], "three messages are not four");
    say(&memory, 4, &["The boots are wet again."]).await;
    let first = the_profile(&memory).await;
    assert_eq!((&first.scope, first.metadata["nickname"].as_str()), (&lin(), Some("Ray")), "{first:?}");
    for known in ["walnuts", "Porto", "boots"] {
        assert!(first.text.contains(known), "{known}: {}", first.text);
    }
    assert!(first.derived_from.len() >= 6, "four messages and what was found in them");
    assert!(recalled_texts(&memory, &lin(), "walnuts").await.contains(&first.text), "it is found like everything else");

    say(&memory, 5, &["Rain all day.", "Still raining.", "And raining."]).await;
    assert_eq!(the_profile(&memory).await.revision, first.revision, "not yet");
    say(&memory, 8, &["The sun came out over the harbour."]).await;
    let second = the_profile(&memory).await;
    assert_eq!((second.id, second.revision), (first.id, first.revision + 1), "the same record, made anew");
    assert!(second.text.contains("harbour") && second.text.contains("walnuts"), "{}", second.text);

    say(&memory, 9, &["I live in Lisbon now."]).await;
    let third = the_profile(&memory).await;
    assert!(
        third.text.contains("Lisbon") && !third.text.contains("Porto"),
        "what holds no more is not told: {}",
        third.text
    );

    let mo = memory_engine::Scope::user("mo").unwrap();
    for text in ["叫我小雨", "我对海鲜过敏", "今天很累", "周末想去爬黄山"] {
        memory.remember(&mo, text).await.unwrap();
    }
    memory.drain(&mo, |_| ()).await.unwrap();
    let filter = Filter::eq(Field::Kind, Kind::PROFILE.as_str());
    let chinese = memory.scan(&mo, &ScanQuery::oldest(9).with_filter(filter)).await.unwrap().records.remove(0);
    for known in ["称呼：小雨", "海鲜", "黄山"] {
        assert!(chinese.text.contains(known), "{known}: {}", chinese.text);
    }
    assert_eq!(the_profile(&memory).await, third, "nobody's else is touched");
}

pub(crate) async fn a4_profile_is_deleted_with_sources_and_rebuilt(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    let said =
        ["I'm allergic to walnuts.", "I'm allergic to shrimp.", "The boots are wet.", "Rain all day.", "Good night."];
    say(&memory, 1, &said).await;
    let first = the_profile(&memory).await;
    let turns = memory.scan(&story(None), &ScanQuery::oldest(99)).await.unwrap().records;
    let of = |text: &str| turns.iter().find(|turn| turn.text == text && turn.kind == Kind::TURN).unwrap().id;

    let forgotten = memory.forget(&lin(), of(said[0])).await.unwrap();
    assert_eq!(forgotten.removed.records.get("profile"), Some(&1), "{forgotten:?}");
    assert_eq!(profiles(&memory).await, [], "at once");
    drain(&memory).await;
    let second = the_profile(&memory).await;
    assert!(!second.text.contains("walnuts") && second.text.contains("shrimp"), "{}", second.text);
    assert_ne!(second.id, first.id);

    memory.remember(&story(None), message(2, "I'm allergic to pollen.")).await.unwrap();
    assert_eq!(profiles(&memory).await, [], "it quotes no message that was edited");
    drain(&memory).await;
    let third = the_profile(&memory).await;
    assert!(third.text.contains("pollen") && !third.text.contains("shrimp"), "{}", third.text);

    say(&memory, 6, &["I live in Porto.", "A quiet day."]).await;
    say(&memory, 8, &["I'm allergic to dust.", "Another day."]).await;
    assert!(the_profile(&memory).await.text.contains("dust"));
    let taken = memory.history().rewind(&story(None), Rewind::To(7)).await.unwrap();
    drain(&memory).await;
    let fourth = the_profile(&memory).await;
    assert!(fourth.text.contains("Porto") && !fourth.text.contains("dust"), "{}", fourth.text);
    memory.history().restore(&lin(), taken.id).await.unwrap();
    drain(&memory).await;
    assert_eq!(profiles(&memory).await.len(), 1, "what was taken back does not stand beside the new one");
}

pub(crate) async fn a4_model_writes_profile_with_rules_as_fallback(test_db: TestDatabase) {
    let model = Arc::new(ScriptedModel::default().when(
        |request| request.messages.iter().any(|message| message.content.contains("relationship")),
        r#"{"nickname": "Ray", "personality": "dry and brief", "preferences": "no walnuts", "recent_topics": "wet boots",
            "relationship": "they trust each other"}"#,
    ));
    let chat: Arc<dyn ChatModel> = model;
    let memory = open_with_options(&test_db, EnrichmentOptions::model(chat.clone()).unwrap()).await;
    say(&memory, 1, &["I'm allergic to walnuts.", "Hm.", "The boots are wet.", "No."]).await;
    let written = the_profile(&memory).await;
    assert!(written.text.contains("dry and brief") && !written.text.contains("trust"), "{}", written.text);

    let failing: Arc<dyn ChatModel> = Arc::new(ScriptedModel::default());
    drop(memory);
    let memory = open_with_options(&test_db, EnrichmentOptions::model(failing.clone()).unwrap()).await;
    say(&memory, 5, &["One.", "Two.", "Three.", "The ferry was late."]).await;
    let by_rules = the_profile(&memory).await;
    assert!(by_rules.text.contains("ferry") && by_rules.text.contains("walnuts"), "{}", by_rules.text);
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!((stats.queued.len(), stats.dead_letters.len()), (0, 0));
}

pub(crate) async fn a4_no_profile_by_default(test_db: TestDatabase) {
    let memory = test_db.open_with(|builder| builder.enrichment(EnrichmentOptions::rules().unwrap())).await;
    for n in 0..9 {
        memory.remember(&story(None), Turn::user(format!("message {n}"))).await.unwrap();
    }
    drain(&memory).await;
    assert_eq!(profiles(&memory).await, []);
}
