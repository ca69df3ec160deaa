//! Records that the background worker derives from turns (K10, K11, R5, M10), and their later changes.

use std::sync::Arc;

use memory_engine::{
    EnrichmentOptions, ErrorKind, Job, Kind, MemoryEngine, Record, State, Timestamp, Trust, Turn,
    enrichment::{self, Locale, SummaryTrigger},
    llm::{ChatModel, ScriptedModel},
};

use crate::fixtures::{NOON, TestDatabase, lin, recalled_texts, story};

async fn by_rules(test_db: &TestDatabase) -> MemoryEngine {
    test_db.open_with(|builder| builder.enrichment(EnrichmentOptions::rules().unwrap())).await
}

fn user_turn(hour: i64, text: &str) -> Turn {
    Turn::user(text).at(Timestamp::from_micros(NOON - 100 * 3_600_000_000 + hour * 3_600_000_000))
}

fn assistant_turn(hour: i64, text: &str) -> Turn {
    Turn::assistant(text).at(Timestamp::from_micros(NOON - 100 * 3_600_000_000 + hour * 3_600_000_000 + 1))
}

/// Returns the facts as they are displayed: valid ones, and former ones with their end.
async fn fact_sentences(memory: &MemoryEngine) -> Vec<String> {
    let zone = jiff::tz::TimeZone::UTC;
    let facts = memory.facts(&lin()).history().records().await.unwrap();
    facts.iter().map(|fact| enrichment::render(fact, Timestamp::from_micros(NOON), &zone)).collect()
}

async fn drain(memory: &MemoryEngine) {
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(memory.admin().failures(&lin(), 9).await.unwrap(), []);
}

async fn active_records_of_kind(memory: &MemoryEngine, kind: Kind) -> Vec<Record> {
    let filter = memory_engine::Filter::eq(memory_engine::Field::Kind, kind.as_str());
    let page = memory.scan(&lin(), &memory_engine::ScanQuery::oldest(999).with_filter(filter)).await.unwrap();
    page.records.into_iter().filter(|record| record.state == State::Active).collect()
}

pub(crate) async fn m10_newer_fact_supersedes_older_one(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    memory.remember(&story(None), user_turn(1, "I live in Porto.")).await.unwrap();
    memory.remember(&story(None), user_turn(2, "我对海鲜过敏")).await.unwrap();
    drain(&memory).await;
    let monday = lin().with_session("monday").unwrap();
    let moved = memory.remember(&monday, user_turn(30, "I live in Lisbon now.")).await.unwrap();
    drain(&memory).await;
    let shown = fact_sentences(&memory).await;
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown.iter().any(|fact| fact.contains("Porto") && fact.contains("until")), "{shown:?}");
    assert!(shown.iter().any(|fact| fact.contains("Lisbon") && !fact.contains("until")), "{shown:?}");
    assert!(shown.iter().any(|fact| fact.contains("海鲜")), "another slot is left alone: {shown:?}");
    for fact in active_records_of_kind(&memory, Kind::FACT).await {
        assert_eq!((fact.trust, fact.derived_from.len()), (Trust::Derived, 1));
    }
    assert!(recalled_texts(&memory, &lin(), "过敏").await.iter().any(|text| text.contains("海鲜")));

    // After the correction is forgotten, the fact that it had replaced is valid again, also in a process without
    // enrichment.
    drop(memory);
    let memory = test_db.open().await;
    memory.forget(&lin(), moved).await.unwrap();
    let shown = fact_sentences(&memory).await;
    assert!(shown.iter().any(|fact| fact.contains("Porto") && !fact.contains("until")), "{shown:?}");
    assert!(!shown.iter().any(|fact| fact.contains("Lisbon")), "{shown:?}");
}

pub(crate) async fn m10_facts_follow_edits_retraction_and_restore(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    let message = |text: &str| user_turn(1, text).with_message_id("m1");
    let facts = async || {
        drain(&memory).await;
        memory.facts(&lin()).await.unwrap().iter().map(|fact| fact.text.clone()).collect::<Vec<_>>()
    };
    let id = memory.remember(&story(None), message("I'm allergic to peanuts.")).await.unwrap();
    assert!(facts().await.join(" ").contains("peanuts"));
    memory.remember(&story(None), message("I'm allergic to walnuts.")).await.unwrap();
    let edited = facts().await.join(" ");
    assert!(edited.contains("walnuts") && !edited.contains("peanuts"), "{edited}");
    memory.remember(&story(None), message("I'm allergic to peanuts.")).await.unwrap();
    let back = facts().await.join(" ");
    assert!(back.contains("peanuts") && !back.contains("walnuts"), "swiped back: {back}");

    let retraction = memory.history().retract(&lin(), &[id], "not said by Lin").await.unwrap();
    assert_eq!(facts().await, [""; 0]);
    memory.history().restore(&lin(), retraction.id).await.unwrap();
    assert!(facts().await.join(" ").contains("peanuts"), "found anew");

    let fact = memory.facts(&lin()).await.unwrap().remove(0);
    memory.forget(&lin(), fact.id).await.unwrap();
    memory.admin().reindex(&lin()).await.unwrap();
    memory.remember(&story(None), message("I'm allergic to peanuts. Very much so.")).await.unwrap();
    assert_eq!(facts().await, [""; 0], "a fact that was deleted is not derived again");
}

pub(crate) async fn k10_stored_turns_are_enriched_once_afterwards(test_db: TestDatabase) {
    let memory = test_db.open().await;
    let refused = memory.admin().requeue_enrichment(&lin()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    for (hour, text) in [(1, "我对海鲜过敏"), (2, "Do you like walnuts?"), (3, "我住在上海")] {
        let turn = if text.ends_with('?') { assistant_turn(hour, text) } else { user_turn(hour, text) };
        memory.remember(&story(None), turn).await.unwrap();
    }
    memory.remember(&story(None), user_turn(4, "not a turn").with_kind(Kind::NOTE)).await.unwrap();
    let page: String =
        (0..200).map(|n| format!("The {n}th lighthouse of the coast stands on a rock of its own. ")).collect();
    let page = memory.remember(&story(None), user_turn(5, &page)).await.unwrap();
    drain(&memory).await;
    drop(memory);
    let memory = by_rules(&test_db).await;
    assert_eq!(memory.admin().requeue_enrichment(&lin()).await.unwrap(), 4, "the turns, and nothing else");
    drain(&memory).await;
    let found = (fact_sentences(&memory).await, active_records_of_kind(&memory, Kind::CHUNK).await.len());
    assert!(found.0.len() == 2 && found.1 > 1, "{found:?}");
    assert_eq!(memory.admin().requeue_enrichment(&lin()).await.unwrap(), 4, "facts and parts are no turns");
    drain(&memory).await;
    assert_eq!((fact_sentences(&memory).await, active_records_of_kind(&memory, Kind::CHUNK).await.len()), found);
    let retraction = memory.history().retract(&lin(), &[page], "a page too long").await.unwrap();
    assert_eq!(active_records_of_kind(&memory, Kind::CHUNK).await, []);
    memory.history().restore(&lin(), retraction.id).await.unwrap();
    drain(&memory).await;
    assert_eq!(
        (fact_sentences(&memory).await, active_records_of_kind(&memory, Kind::CHUNK).await.len()),
        found,
        "brought back, and not cut again"
    );
    let elsewhere = lin().with_session("elsewhere").unwrap();
    assert_eq!(memory.admin().requeue_enrichment(&elsewhere).await.unwrap(), 0);
}

pub(crate) async fn k10_turns_get_topic_entities_and_emotion(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    let id = memory.remember(&story(None), user_turn(1, "今天不太开心，在虹桥火车站等小王")).await.unwrap();
    let before = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!((before.emotion, before.entities.len()), (None, 0), "the write did not wait for it");
    drain(&memory).await;
    let after = memory.get(&lin(), id).await.unwrap().unwrap();
    assert_eq!(after.emotion.as_deref(), Some("难过"));
    assert_eq!(after.entities, ["虹桥火车站", "小王"]);
    assert!(after.topic.is_some());
}

async fn talk(memory: &MemoryEngine, rounds: std::ops::RangeInclusive<i64>) {
    for round in rounds {
        let question = format!("我想聊聊第{round}次去黄山徒步的计划，天气和装备怎么准备？");
        memory.remember(&story(None), user_turn(round, &question).with_message_id(format!("q{round}"))).await.unwrap();
        let answer = format!("第{round}次去黄山要带雨衣和登山杖，山上风大。");
        memory
            .remember(&story(None), assistant_turn(round, &answer).with_message_id(format!("a{round}")))
            .await
            .unwrap();
    }
    drain(memory).await;
}

pub(crate) async fn k11_summary_covers_exactly_five_rounds(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    talk(&memory, 1..=4).await;
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await, []);
    talk(&memory, 5..=11).await;
    let summaries = active_records_of_kind(&memory, Kind::SUMMARY).await;
    let covered: Vec<usize> = summaries.iter().map(|summary| summary.derived_from.len()).collect();
    assert_eq!(covered, [10, 10]);
    let all: std::collections::BTreeSet<_> =
        summaries.iter().flat_map(|summary| summary.derived_from.clone()).collect();
    assert_eq!(all.len(), 20, "no turn is covered twice");
    assert_eq!(memory.admin().summarize_now(&story(None)).await.unwrap(), 1, "the rest, when it is asked for");
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await.len(), 3);
    assert_eq!(memory.admin().summarize_now(&story(None)).await.unwrap(), 0);
    assert_eq!(memory.admin().summarize_now(&story(Some("empty"))).await.unwrap(), 0);
}

pub(crate) async fn r5_summary_is_rebuilt_after_deletion(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    talk(&memory, 1..=10).await;
    let first = active_records_of_kind(&memory, Kind::SUMMARY).await.remove(0);
    let gone = first.derived_from[2];
    memory.forget(&lin(), gone).await.unwrap();
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await.len(), 1, "it goes with the turn, at once");
    drop(memory);
    let memory = by_rules(&test_db).await;
    drain(&memory).await;
    let again = active_records_of_kind(&memory, Kind::SUMMARY).await;
    assert_eq!(again.iter().map(|summary| summary.derived_from.len()).collect::<Vec<_>>(), [9, 10]);
    assert!(!again[0].derived_from.contains(&gone));

    let edited =
        Turn::user("我想聊聊去泰山看日出").with_message_id("q7").at(Timestamp::from_micros(NOON - 93 * 3_600_000_000));
    memory.remember(&story(None), edited).await.unwrap();
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await.len(), 1);
    drain(&memory).await;
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await.len(), 2);
}

pub(crate) async fn r15_failing_model_falls_back_to_rules(test_db: TestDatabase) {
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::default());
    let digest = EnrichmentOptions::model(model.clone()).unwrap().with_trigger(SummaryTrigger::every_turns(2));
    let memory = test_db.open_with(|builder| builder.enrichment(digest)).await;
    memory.remember(&story(None), user_turn(1, "我对海鲜过敏，今天很难过")).await.unwrap();
    memory.remember(&story(None), assistant_turn(1, "记住了，以后不点海鲜。")).await.unwrap();
    drain(&memory).await;
    let facts = memory.facts(&lin()).await.unwrap();
    assert_eq!(facts.len(), 1, "{facts:?}");
    assert_eq!(active_records_of_kind(&memory, Kind::SUMMARY).await.len(), 1);
    let stats = memory.stats(&lin()).await.unwrap();
    assert_eq!((stats.queued.len(), stats.dead_letters.len()), (0, 0));
}

pub(crate) async fn r15_failing_item_does_not_block_others(test_db: TestDatabase) {
    #[derive(Debug)]
    struct Choking;
    #[async_trait::async_trait]
    impl enrichment::FactExtractor for Choking {
        async fn extract(&self, turns: &[Record], _: &Locale) -> memory_engine::Result<enrichment::Facts> {
            match turns.iter().any(|turn| turn.text.contains("poison")) {
                true => {
                    Err(memory_engine::Error::new(memory_engine::ErrorKind::Internal, "facts", "it cannot be read"))
                }
                false => Ok(enrichment::Facts::default()),
            }
        }
    }
    let digest = EnrichmentOptions::default().with_facts(Arc::new(Choking));
    let memory = test_db.open_with(|builder| builder.enrichment(digest)).await;
    let elsewhere = lin().with_session("elsewhere").unwrap();
    let poison = memory.remember(&elsewhere, "this is poison").await.unwrap();
    for text in ["one", "two", "three"] {
        memory.remember(&story(None), text).await.unwrap();
    }
    let attempts = async || memory.admin().failures(&lin(), 9).await.unwrap().first().map_or(0, |one| one.attempts);
    for round in 1..20 {
        // After the failure, the drain only waits for the time of the next attempt.
        let has_failed = async {
            while attempts().await < round {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let scope = lin();
        tokio::select! { drained = memory.drain(&scope, |_| ()) => drop(drained), () = has_failed => {} }
        if memory.stats(&lin()).await.unwrap().queued.is_empty() {
            break;
        }
        test_db.clock.advance(std::time::Duration::from_secs(100));
    }
    let failures = memory.admin().failures(&lin(), 9).await.unwrap();
    assert_eq!((failures.len(), failures[0].id, failures[0].job, failures[0].attempts), (1, poison, Job::Facts, 5));
    assert_eq!(failures[0].retry_at, None);
    assert!(!failures[0].reason.contains("poison"), "no text in what is told: {}", failures[0].reason);
    assert_eq!(memory.stats(&lin()).await.unwrap().dead_letters, [(Job::Facts, 1)].into());
}

pub(crate) async fn r6_long_turn_is_found_by_chunks(test_db: TestDatabase) {
    let memory = by_rules(&test_db).await;
    let filler =
        |n: usize| format!("On day {n} we walked along the river, talked about the weather and had soup for dinner. ");
    let mut page: String = (0..30).map(filler).collect();
    page.push_str("The keeper of the lighthouse is called Marmalade. ");
    page.extend((30..60).map(filler));
    let turn = user_turn(1, &page).with_message_id("page").with_sequence(7);
    let whole = memory.remember(&story(None), turn).await.unwrap();
    memory.remember(&story(None), user_turn(2, "A short one.")).await.unwrap();
    drain(&memory).await;
    let parts = active_records_of_kind(&memory, Kind::CHUNK).await;
    assert!(parts.len() > 5, "{} parts", parts.len());
    for part in &parts {
        assert!(page.contains(&part.text) && part.text.chars().count() <= 600);
        assert_eq!((part.derived_from.clone(), part.source.sequence), (vec![whole], Some(7)));
        assert_eq!(part.source.message_id.as_deref(), Some("page"));
    }
    let recall = memory.recall(&lin(), "keeper of the lighthouse").await.unwrap();
    let first = &recall.hits[0].record;
    assert!(first.kind == Kind::CHUNK && first.text.contains("Marmalade"), "{}", first.text);
    let again = recall.hits.iter().find(|hit| hit.record.id == whole).and_then(|hit| hit.repeats);
    assert!(again.is_none_or(|id| id == first.id), "the page as a whole is a repetition");
    let edited = user_turn(1, "Never mind.").with_message_id("page").with_sequence(7);
    memory.remember(&story(None), edited).await.unwrap();
    drain(&memory).await;
    assert_eq!(active_records_of_kind(&memory, Kind::CHUNK).await, []);
}

pub(crate) async fn r8_entities_are_extracted_in_background(test_db: TestDatabase) {
    use memory_engine::{
        graph::{GraphFactsQuery, RuleExtractor},
        history::Fork,
    };
    let memory = test_db.open_with(|builder| builder.graph(Arc::new(RuleExtractor::default()))).await;
    let tell = async |branch: Option<&str>, sequence: i64, text: &str| {
        memory.remember(&story(branch), crate::fixtures::message(sequence, text)).await.unwrap()
    };
    tell(None, 1, "Captain Holt sailed the Sea Hawk into the fog.").await;
    let second = tell(None, 2, "It was known that Captain Holt had once loved Anna Reed.").await;
    memory.history().fork(&story(Some("b")), Fork::at(1)).await.unwrap();
    tell(Some("b"), 2, "Captain Holt met Mary Shelley in the harbour.").await;
    drain(&memory).await;
    let around = async |branch: Option<&str>, name: &str| {
        let found = memory.graph().facts(&story(branch), &GraphFactsQuery::about([name])).await.unwrap();
        let mut names: Vec<String> = found.entities.iter().map(|entity| entity.name.clone()).collect();
        assert!(found.entities.iter().all(|entity| entity.citation.sequence.is_some()));
        names.sort();
        names
    };
    assert!(around(None, "Anna Reed").await.iter().any(|name| name.contains("Holt")));
    assert_eq!(around(Some("b"), "Anna Reed").await, [""; 0], "what comes after the fork is not seen");
    let seen = around(Some("b"), "Captain Holt").await.join(", ");
    assert!(seen.contains("Sea Hawk") && seen.contains("Mary Shelley") && !seen.contains("Anna"), "{seen}");
    memory.forget(&lin(), second).await.unwrap();
    assert_eq!(around(None, "Anna Reed").await, [""; 0]);
}

pub(crate) async fn k10_model_extracts_once_per_batch(test_db: TestDatabase) {
    let model = Arc::new(ScriptedModel::replying([
        r#"{"turns": [{"n": 1, "topic": "食物过敏", "entities": ["海鲜"], "emotion": "难过"},
                      {"n": 2, "topic": "点菜", "entities": [], "emotion": null}]}"#,
        r#"{"facts": [{"n": 1, "subject": "user", "slot": "allergy", "value": "海鲜", "polarity": "positive",
                       "cardinality": "many", "type": "fact", "text": "用户对海鲜过敏。"}]}"#,
        "用户说自己对海鲜过敏，助手答应以后不点海鲜。",
    ]));
    let chat: Arc<dyn ChatModel> = model.clone();
    let digest = EnrichmentOptions::model(chat.clone()).unwrap().with_trigger(SummaryTrigger::every_turns(2));
    let memory = test_db.open_with(|builder| builder.enrichment(digest)).await;
    let said = memory.remember(&story(None), user_turn(1, "我对海鲜过敏，今天很难过")).await.unwrap();
    memory.remember(&story(None), assistant_turn(1, "记住了，以后不点海鲜。")).await.unwrap();
    assert_eq!(model.requests().len(), 0, "a write waits for no model");
    drain(&memory).await;
    assert_eq!(model.requests().len(), 3);
    let turn = memory.get(&lin(), said).await.unwrap().unwrap();
    assert_eq!((turn.topic.as_deref(), turn.emotion.as_deref()), (Some("食物过敏"), Some("难过")));
    let facts = memory.facts(&lin()).await.unwrap();
    assert_eq!(facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>(), ["用户对海鲜过敏。"]);
    let summaries = active_records_of_kind(&memory, Kind::SUMMARY).await;
    assert_eq!(summaries[0].text, "用户说自己对海鲜过敏，助手答应以后不点海鲜。");
    assert_eq!(summaries[0].derived_from.len(), 2);
    memory.admin().reindex(&lin()).await.unwrap();
    drain(&memory).await;
    assert_eq!(model.requests().len(), 3, "indexing anew asks no model");
}

/// Contradictory statements in sequence, and the facts at the end: valid ones and former ones.
pub(crate) async fn m10_contradictions_are_resolved(test_db: TestDatabase) {
    type Case = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);
    const CASES: [Case; 6] = [
        ("replacement", &["I live in Porto.", "I live in Lisbon now."], &["Lisbon"], &["Porto"]),
        ("polarity", &["I like coffee.", "I like tea.", "I don't like coffee anymore."], &["tea"], &["coffee"]),
        ("retraction", &["我对海鲜过敏", "我不再对海鲜过敏了"], &[], &["海鲜"]),
        ("two slots", &["My name is Lena.", "I live in Bonn."], &["Lena", "Bonn"], &[]),
        ("the same again", &["我住在上海", "我住在上海"], &["上海"], &[]),
        ("replacement, Chinese", &["我住在上海", "我搬到杭州了"], &["杭州"], &["上海"]),
    ];
    let memory = by_rules(&test_db).await;
    for (name, said_one_after_the_other, holds, held) in CASES {
        let who = memory_engine::Scope::user(name).unwrap();
        for (hour, text) in (1..).zip(said_one_after_the_other) {
            memory.remember(&who, user_turn(hour, text)).await.unwrap();
            memory.drain(&who, |_| ()).await.unwrap();
        }
        let history = memory.facts(&who).history().records().await.unwrap();
        let of = |state: State, word: &str| {
            history.iter().filter(|fact| fact.state == state && fact.text.contains(word)).count()
        };
        for word in holds {
            assert_eq!(of(State::Active, word), 1, "{name}: {word} holds, {history:?}");
            let found = recalled_texts(&memory, &who, word).await;
            assert!(found.iter().any(|text| text.contains(word)), "{name}: {found:?}");
        }
        for word in held {
            assert!(of(State::Superseded, word) >= 1, "{name}: {word} held once, {history:?}");
        }
        let now = Timestamp::from_micros(NOON);
        let shown = |fact: &Record| enrichment::render(fact, now, &jiff::tz::TimeZone::UTC);
        let past = history.iter().filter(|fact| fact.state == State::Superseded).map(shown);
        for text in past {
            assert!(text.contains("until") || text.contains("直到"), "{name}: {text}");
        }
    }
}
