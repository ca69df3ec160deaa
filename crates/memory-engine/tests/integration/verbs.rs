//! Remembering, importing, correcting and reading back, on every backend.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use memory_engine::{
    EnrichmentOptions, ErrorKind, Field, Filter, Forget, Kind, MemoryEngine, Outcome, PutMode, Record, ScanQuery,
    Scope, State, Timestamp, Turn,
    facts::Fact,
    history::{Edit, Rewind},
    store::RecordGroup,
    testing::ManualClock,
};

use crate::given::{Backend, lin};

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

async fn with_facts(clock: Arc<ManualClock>) -> MemoryEngine {
    let options = EnrichmentOptions::rules().unwrap();
    let builder = MemoryEngine::builder().in_memory().enrichment(options).background(false);
    builder.clock(clock).build().await.unwrap()
}

async fn say(memory: &MemoryEngine, text: &str, at: &str) {
    memory.remember(&lin(), Turn::user(text).at(time(at))).await.unwrap();
    memory.drain(&lin(), |_| ()).await.unwrap();
}

fn values(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.value.as_str()).collect()
}

#[tokio::test]
async fn facts_are_returned_as_of_a_time() {
    let clock = Arc::new(ManualClock::new(time("2024-09-01")));
    let memory = with_facts(clock).await;
    say(&memory, "I live in Porto.", "2024-05-01").await;
    say(&memory, "我对花生过敏。", "2024-06-01").await;
    say(&memory, "I moved to Lisbon.", "2024-08-29").await;

    let homes = || memory.facts(&lin()).attribute("home");
    assert_eq!(values(&homes().await.unwrap()), ["Lisbon"]);
    assert_eq!(values(&homes().as_of(time("2024-06-15")).await.unwrap()), ["Porto"]);
    assert_eq!(values(&homes().as_of(time("2024-04-30")).await.unwrap()), [""; 0]);
    let ever = homes().history().await.unwrap();
    assert_eq!(values(&ever), ["Porto", "Lisbon"]);
    assert_eq!(ever[0].superseded_by, Some(ever[1].id));
    assert_eq!((ever[0].valid_from, ever[0].valid_until), (time("2024-05-01"), Some(time("2024-08-29"))));
    assert_eq!(memory.facts(&lin()).about("user").await.unwrap().len(), 2);
    assert!(memory.facts(&lin()).about("Mo").await.unwrap().is_empty());
    let records = memory.facts(&lin()).history().records().await.unwrap();
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record.kind == Kind::FACT));
}

/// The clock of a machine was two years ahead, and was corrected.
#[tokio::test]
async fn records_of_a_clock_that_was_ahead_can_be_corrected_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let open = async |now: &str| {
        let builder = MemoryEngine::builder().sqlite(folder.path().join("memory.db")).background(false);
        let builder = builder.enrichment(EnrichmentOptions::rules().unwrap());
        builder.clock(ManualClock::new(time(now))).build().await.unwrap()
    };
    let ahead = open("2026-09-01").await;
    let turn = |text: &str| Turn::user(text).with_message_id("m");
    let id = ahead.remember(&lin(), turn("I live in Porto.")).await.unwrap();
    ahead.close().await.unwrap();
    let memory = open("2024-09-01").await;
    memory.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(values(&memory.facts(&lin()).history().await.unwrap()), ["Porto"]);
    memory.update(&lin(), id, "I live in Braga.").await.unwrap();
    let retraction = memory.history().rewind(&lin(), Rewind::Last(1)).await.unwrap();
    assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().state, State::Revoked);
    assert_eq!(memory.history().restore(&lin(), retraction.id).await.unwrap(), 1);
    // A new time in the future is refused still.
    let late = || turn("I live in Faro.").at(time("2025-01-01"));
    let kind = |error: memory_engine::Error| error.kind();
    assert_eq!(memory.remember(&lin(), late()).await.map_err(kind), Err(ErrorKind::InvalidInput));
    assert_eq!(memory.remember_all(&lin(), [late()]).await.map_err(kind), Err(ErrorKind::InvalidInput));
}

#[tokio::test]
async fn a_fact_written_by_hand_is_listed() {
    let memory = with_facts(Arc::new(ManualClock::new(time("2024-09-01")))).await;
    memory.remember(&lin(), Turn::note("Lin plays chess").with_kind(Kind::FACT)).await.unwrap();
    let facts = memory.facts(&lin()).await.unwrap();
    assert_eq!((facts[0].attribute.as_str(), facts[0].value.as_str()), ("note", "Lin plays chess"));
}

#[tokio::test]
async fn an_updated_fact_supersedes_the_old_one_until_the_update_is_retracted() {
    for (said, correction, value) in [
        ("I live in Porto.", "I live in Lisbon.", "Lisbon"),
        ("I live in Porto.", "Lisbon", "Lisbon"),
        ("I'm allergic to peanuts.", "cashews", "cashews"),
        ("我对花生过敏。", "我对腰果过敏。", "腰果"),
    ] {
        let clock = Arc::new(ManualClock::new(time("2024-09-01")));
        let memory = with_facts(clock.clone()).await;
        say(&memory, said, "2024-05-01").await;
        let old = memory.facts(&lin()).await.unwrap().remove(0);
        let new_id = memory.update(&lin(), old.id, correction).await.unwrap();

        let now = memory.facts(&lin()).await.unwrap();
        assert_eq!(values(&now), [value], "{said} {correction}");
        assert_eq!((now[0].id, now[0].attribute.as_str()), (new_id, old.attribute.as_str()));
        assert_eq!(now[0].evidence[0].quote, correction);
        let ever = memory.facts(&lin()).history().await.unwrap();
        assert_eq!(ever.len(), 2, "{ever:?}");
        assert_eq!((ever[0].superseded_by, ever[0].valid_until), (Some(new_id), Some(time("2024-09-01"))));
        let before = memory.facts(&lin()).as_of(time("2024-08-31")).await.unwrap();
        assert_eq!(values(&before), [old.value.as_str()]);

        memory.history().retract(&lin(), &[now[0].evidence[0].record], "it was right").await.unwrap();
        assert_eq!(values(&memory.facts(&lin()).await.unwrap()), [old.value.as_str()]);
    }
}

#[tokio::test]
async fn an_updated_turn_keeps_id_and_former_texts_and_is_enriched_again() {
    let memory = with_facts(Arc::new(ManualClock::new(time("2024-09-01")))).await;
    say(&memory, "I live in Porto.", "2024-05-01").await;
    let turns = memory.records(&lin()).filter(Filter::eq(Field::Kind, "turn")).collect().await.unwrap();
    assert_eq!(memory.update(&lin(), turns[0].id, "I live in Faro.").await.unwrap(), turns[0].id);
    memory.drain(&lin(), |_| ()).await.unwrap();

    let facts = memory.facts(&lin()).history().await.unwrap();
    assert_eq!(values(&facts), ["Faro"], "facts of the old text are removed");
    let record = memory.get(&lin(), turns[0].id).await.unwrap().unwrap();
    let edits = Edit::all_of(&record);
    assert_eq!((edits.len(), edits[0].text.as_str(), edits[0].until), (1, "I live in Porto.", time("2024-09-01")));

    for n in 0..60 {
        memory.update(&lin(), record.id, format!("{n} {}", "x".repeat(300))).await.unwrap();
    }
    let record = memory.get(&lin(), record.id).await.unwrap().unwrap();
    let edits = Edit::all_of(&record);
    assert_eq!(edits.len(), 50);
    assert!(edits[0].text.starts_with("9 ") && edits[49].text.starts_with("58 "), "{:?}", edits[0]);
}

#[tokio::test]
async fn updates_of_missing_records_and_empty_updates_are_refused() {
    let memory = with_facts(Arc::new(ManualClock::new(time("2024-09-01")))).await;
    let id = memory.remember(&lin(), "the key is under the mat").await.unwrap();
    let kind = |outcome: memory_engine::Result<_>| outcome.map(|_: memory_engine::RecordId| ()).unwrap_err().kind();
    assert_eq!(kind(memory.update(&lin(), id, " ").await), ErrorKind::InvalidInput);
    let mei = Scope::user("mei").unwrap();
    assert_eq!(kind(memory.update(&mei, id, "mine now").await), ErrorKind::NotFound);
    assert_eq!(memory.get(&lin(), id).await.unwrap().unwrap().text, "the key is under the mat");
}

#[tokio::test]
async fn many_turns_are_remembered_in_one_call() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let turn = |n: usize, text: &str| Turn::user(text.to_owned()).with_message_id(format!("m{n}"));
        let written =
            memory.remember_all(&lin(), [turn(1, "one"), turn(2, "two"), turn(2, "two, edited")]).await.unwrap();
        let outcomes: Vec<Outcome> = written.iter().map(|written| written.outcome).collect();
        assert_eq!(outcomes, [Outcome::Created, Outcome::Created, Outcome::Updated]);
        assert_eq!(memory.stats(&lin()).await.unwrap().records, 2);

        memory.history().retract(&lin(), &[written[0].id], "wrong").await.unwrap();
        memory.remember_all(&lin(), [turn(1, "one"), turn(3, "three")]).await.unwrap();
        let first = memory.get(&lin(), written[0].id).await.unwrap().unwrap();
        assert_eq!(first.state, State::Revoked, "a retracted turn stays retracted when it is sent again");

        memory.forget(&lin(), written[1].id).await.unwrap();
        let again = memory.remember_all(&lin(), [turn(2, "two"), turn(4, "four")]).await.unwrap();
        assert!(matches!(again[0].outcome, Outcome::Blocked(_)), "{again:?}");
        assert_eq!(again[1].outcome, Outcome::Created);
        let refused = memory.remember_all(&lin(), ["five", ""]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            memory
                .records(&lin())
                .filter(Filter::eq(Field::State, "active").and(Filter::eq(Field::Kind, "turn")))
                .collect()
                .await
                .unwrap()
                .len(),
            2
        );
    }
}

#[tokio::test]
async fn records_are_streamed_in_both_orders_for_any_page_size() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let turns = (0..23_i64).map(|n| Turn::user(format!("line {n}")).with_sequence(n).at(time("2024-05-01")));
        memory.remember_all(&lin(), turns).await.unwrap();
        for rows in [0, 1, 7, 23, 500] {
            let oldest = memory.records(&lin()).page_rows(rows);
            let texts: Vec<String> = oldest.stream().map_ok(|record| record.text).try_collect().await.unwrap();
            let expected: Vec<String> = (0..23).map(|n| format!("line {n}")).collect();
            assert_eq!(texts, expected);
            let newest = memory.records(&lin()).newest_first().page_rows(rows).collect().await.unwrap();
            assert!(newest.iter().map(|record| &record.text).eq(expected.iter().rev()));
        }
    }
}

#[tokio::test]
async fn an_import_reports_each_record_and_continues_after_an_invalid_one() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let turn = |n: usize| {
            Turn::user(if n == 3 { String::new() } else { format!("line {n}") })
                .with_message_id(n.to_string())
                .at(time("2024-05-01"))
        };
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let progress = Arc::clone(&seen);
        let written = Arc::new(std::sync::Mutex::new(Vec::new()));
        let outcomes = Arc::clone(&written);
        let import = memory.import(&lin(), stream::iter((0..25).map(turn))).batch_rows(10);
        let import = import.on_written(move |index, written| outcomes.lock().unwrap().push((index, written.id)));
        let report = import.on_progress(move |report| progress.lock().unwrap().push(report.read)).run().await.unwrap();
        let written = std::mem::take(&mut *written.lock().unwrap());
        for (index, id) in &written {
            assert_eq!(memory.get(&lin(), *id).await.unwrap().unwrap().text, format!("line {index}"));
        }
        assert_eq!(written.len(), 24);
        assert_eq!((report.read, report.created, report.failed), (25, 24, 1));
        assert_eq!(report.failures[0].index, 3);
        assert!(report.failures[0].reason.contains("text"), "{:?}", report.failures[0]);
        assert_eq!(*seen.lock().unwrap(), [10, 20, 25]);

        let again = memory.import(&lin(), stream::iter((0..25).map(turn))).run().await.unwrap();
        assert_eq!((again.created, again.unchanged, again.failed), (0, 24, 1));

        // The store rejects a record of another user, and the others of its batch are stored.
        let mei = Scope::user("mei").unwrap();
        let record =
            |scope: Scope, text: &str| Record::new(scope, Kind::NOTE, text, memory.settings().clock().as_ref());
        let records = [record(lin(), "mine"), record(mei, "hers"), record(lin(), "mine, too")];
        let report = memory.import(&lin(), stream::iter(records)).mode(PutMode::Create).run().await.unwrap();
        assert_eq!((report.created, report.failed, report.failures[0].index), (2, 1, 1));
    }
}

#[tokio::test]
async fn the_background_waits_for_an_import_to_end() {
    for backend in Backend::all() {
        let memory = backend.builder().background(true).build().await.unwrap();
        let queued = || async { memory.stats(&lin()).await.unwrap().queued.values().sum::<u64>() };
        let turns = stream::iter(0..30).then(|n| {
            let memory = memory.clone();
            async move {
                if n == 20 {
                    // Long enough for the background worker to run the queued jobs if it were not paused.
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    let queued = memory.stats(&lin()).await.unwrap().queued;
                    assert!(!queued.is_empty() && queued.values().all(|waiting| *waiting == 20), "{queued:?}");
                }
                Turn::user(format!("line {n}")).at(time("2024-05-01"))
            }
        });
        memory.import(&lin(), Box::pin(turns)).batch_rows(10).run().await.unwrap();
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while queued().await > 0 {
            assert!(tokio::time::Instant::now() < end, "the background worker did not continue");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn a_context_contains_persona_relevant_memories_and_recent_turns_within_its_limit() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let monday = lin().with_session("monday").unwrap();
        memory.remember(&monday, Turn::user("I'm allergic to peanuts").at(time("2024-05-01"))).await.unwrap();
        for n in 0..5 {
            memory.remember(&monday, Turn::assistant(format!("The weather of day {n} is fine"))).await.unwrap();
        }
        let request = || memory.context(&monday, "Am I allergic to peanuts?").persona("You are kind.").recent(2);
        let context = request().max_tokens(200).await.unwrap();
        let place = |part: &str| context.text.find(part).unwrap_or_else(|| panic!("no {part:?} in {}", context.text));
        assert_eq!(place("You are kind."), 0);
        assert!(place("2024-05-01") < place("day 3") && place("day 3") < place("day 4"));
        assert!(!context.text.contains("day 2"));
        assert_eq!(context.records.len(), 3);
        assert!(context.tokens <= 200 && context.degraded.is_empty());

        let short = request().max_tokens(12).await.unwrap();
        assert!(short.tokens <= 12 && short.text.starts_with("You are kind."), "{}", short.text);
        let none = memory.context(&monday, "量子纠缠").await.unwrap();
        assert_eq!((none.text.as_str(), none.records.len()), ("", 0));
        assert!(request().max_tokens(2).await.is_err(), "the persona is never cut");
        let all = memory.context(&monday, "Am I allergic to peanuts?").recent(9).await.unwrap();
        assert_eq!(all.text.matches("peanuts").count(), 1, "a recent turn is not repeated among the memories");
    }
}

#[tokio::test]
async fn a_context_too_small_for_all_memories_contains_the_best() {
    for backend in Backend::all() {
        let memory = backend.builder().build().await.unwrap();
        let others = [
            "周末整理了阳台的花盆，给多肉换了土",
            "地铁坐过了站，走了二十分钟才到公司",
            "晚饭做了番茄牛腩，炖了两个小时",
        ];
        for n in 0..60 {
            memory.remember(&lin(), Turn::user(format!("{}，这是第{n}天", others[n % 3]))).await.unwrap();
        }
        for part in ["换气", "蹬腿", "划手", "转身", "出发", "潜泳", "踩水", "呼吸节奏", "手脚配合"]
        {
            let text = format!("今天去游泳馆上课，教练说我的蛙泳{part}还要多练，水温有点低，回家路上买了一杯热豆浆");
            memory.remember(&lin(), Turn::user(text).at(time("2024-05-01"))).await.unwrap();
        }
        memory.drain(&lin(), |_| ()).await.unwrap();
        let request = || memory.context(&lin(), "教练说我的蛙泳怎么样？");
        let sizes = [request().max_tokens(200).await.unwrap(), request().max_tokens(500).await.unwrap()];
        for (context, max_tokens) in sizes.iter().zip([200, 500]) {
            assert!(context.tokens <= max_tokens && context.text.contains("蛙泳"), "{context:?}");
        }
        assert!(sizes[0].records.len() < sizes[1].records.len(), "{sizes:?}");
        let persona = "你是一个温柔的朋友。".repeat(15);
        let context = request().persona(persona).recent(3).max_tokens(400).await.unwrap();
        assert!(context.tokens <= 400 && context.text.matches("蛙泳").count() > 2, "{context:?}");
    }
}

/// Returns the number of records in each group of lin, after comparing the groups with the records.
async fn checked_counts(memory: &MemoryEngine) -> Vec<u64> {
    let records = memory.scan(&lin(), &ScanQuery::oldest(1000)).await.unwrap().records;
    let groups = memory.admin().record_groups(&lin()).await.unwrap();
    assert_eq!(groups, RecordGroup::collect(&records));
    groups.iter().map(|group| group.records).collect()
}

#[tokio::test]
async fn record_groups_follow_every_verb() {
    for backend in Backend::all() {
        let clock = Arc::new(ManualClock::new(time("2026-03-01")));
        let builder = backend.builder().enrichment(EnrichmentOptions::rules().unwrap()).background(false);
        let memory = builder.clock(clock.clone()).build().await.unwrap();
        let mut ids = Vec::new();
        let turns = [("I live in Porto.", "2026-01-01"), ("I moved to Lisbon.", "2026-01-03"), ("Hello", "2026-01-02")];
        for (text, at) in turns {
            ids.push(memory.remember(&lin(), Turn::user(text).at(time(at))).await.unwrap());
            checked_counts(&memory).await;
            memory.drain(&lin(), |_| ()).await.unwrap();
            checked_counts(&memory).await;
        }
        let all = checked_counts(&memory).await;
        assert!(all.contains(&3), "three turns, and facts in two states: {all:?}");
        let retraction = memory.history().rewind(&lin(), Rewind::Last(1)).await.unwrap();
        assert_ne!(checked_counts(&memory).await, all);
        memory.history().restore(&lin(), retraction.id).await.unwrap();
        checked_counts(&memory).await;
        let retraction = memory.history().retract(&lin(), &[ids[0]], "it was wrong").await.unwrap();
        checked_counts(&memory).await;
        memory.history().restore(&lin(), retraction.id).await.unwrap();
        checked_counts(&memory).await;
        memory.update(&lin(), ids[1], "I moved to Faro.").await.unwrap();
        memory.drain(&lin(), |_| ()).await.unwrap();
        checked_counts(&memory).await;
        memory.forget(&lin(), ids[0]).await.unwrap();
        checked_counts(&memory).await;
        memory.forget(&lin(), Forget::Everything).await.unwrap();
        assert_eq!(checked_counts(&memory).await, [0; 0]);
        memory.close().await.unwrap();
    }
}
