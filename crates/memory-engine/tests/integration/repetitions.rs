//! Messages that a program repeats, on every backend; on Postgres if `DATABASE_URL` names a server.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Builder, Field, Filter, Kind, MemoryEngine, Outcome, Record, ScanQuery, Scope, Turn, jiff::tz::TimeZone,
    store::repetitions, testing::ManualClock,
};

use crate::given::{Backend, lin};

const PROMPTS: [&str; 2] = ["Check the greenhouse sensors and report", "检查温室的传感器并写报告"];
const HOUR: Duration = Duration::from_secs(60 * 60);

struct Fixture {
    memory: MemoryEngine,
    clock: Arc<ManualClock>,
    _backend: Option<Backend>,
}

/// Returns an empty memory of each backend, at nine in the morning in Shanghai.
async fn fixtures(test: &str) -> Vec<Fixture> {
    let mut builders: Vec<(Builder, Option<Backend>)> =
        Backend::all().into_iter().map(|backend| (backend.builder(), Some(backend))).collect();
    if let Ok(url) = std::env::var("DATABASE_URL") {
        let schema = format!("{test}_{}", std::process::id());
        let options = memory_engine::postgres::PostgresOptions::default().with_schema(schema);
        builders.push((MemoryEngine::builder().postgres_with(url, options), None));
    }
    let mut fixtures = Vec::new();
    for (builder, _backend) in builders {
        let clock = Arc::new(ManualClock::new("2026-03-02T01:00:00Z".parse().unwrap()));
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let builder = builder.background(false).clock(clock.clone()).zone(zone);
        fixtures.push(Fixture { memory: builder.build().await.unwrap(), clock, _backend });
    }
    fixtures
}

impl Fixture {
    /// Stores an exchange ten seconds later. Returns the outcomes.
    async fn say(&self, scope: &Scope, text: &str, reply: &str) -> Vec<Outcome> {
        self.clock.advance(Duration::from_secs(10));
        let turns = [Turn::user(text), Turn::assistant(reply)];
        let written = self.memory.remember_all(scope, turns).await.unwrap();
        written.into_iter().map(|written| written.outcome).collect()
    }

    async fn turns(&self) -> Vec<Record> {
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str());
        self.memory.scan(&lin(), &ScanQuery::oldest(1000).with_filter(turns)).await.unwrap().records
    }

    async fn count_of(&self, text: &str) -> usize {
        self.turns().await.iter().filter(|turn| turn.text == text).count()
    }
}

fn session(name: impl ToString) -> Scope {
    lin().with_session(name.to_string()).unwrap()
}

#[tokio::test]
async fn the_message_of_a_script_is_stored_three_times_and_then_counted() {
    for fixture in fixtures("script").await {
        for prompt in PROMPTS {
            for run in 0..40 {
                let outcomes = fixture.say(&session(format!("{prompt} {run}")), prompt, &format!("Report {run}")).await;
                let expected = if run < 3 { Outcome::Created } else { Outcome::Counted };
                assert_eq!(outcomes, [expected; 2], "run {run}");
            }
            let hits = fixture.memory.recall(&lin(), prompt).await.unwrap().hits;
            let found: Vec<_> = hits.iter().filter(|hit| hit.record.text == prompt).collect();
            assert_eq!(found.len(), 1, "it is found once");
            assert_eq!(repetitions(&found[0].record), Some(40));
        }
        let turns = fixture.turns().await;
        assert_eq!(turns.len(), 2 * 2 * 3);
        assert_eq!(turns.iter().filter(|turn| turn.text == "Report 2").count(), 2, "the first replies stay");
    }
}

#[tokio::test]
async fn a_real_conversation_keeps_its_repeated_words() {
    for fixture in fixtures("talk").await {
        for short in ["go on", "继续吧", "What else is new?"] {
            for run in 0..6 {
                fixture.say(&session(format!("{short} {run}")), short, "Well …").await;
            }
            assert_eq!(fixture.count_of(short).await, 6, "{short}");
        }
        let [prompt, other] = PROMPTS;
        let chat = session("chat");
        fixture.say(&chat, "The tomatoes look pale today", "Which ones?").await;
        for run in 0..6 {
            fixture.say(&chat, prompt, &format!("Reading {run}")).await;
        }
        assert_eq!(fixture.count_of(prompt).await, 6, "a session with other words is a conversation");
        // Each speaker, agent and user says it for the first time.
        for name in ["Ava", "Noah"] {
            for _ in 0..3 {
                fixture.memory.remember(&lin(), Turn::user(other).with_speaker(name)).await.unwrap();
            }
        }
        assert_eq!(fixture.count_of(other).await, 6);
    }
}

#[tokio::test]
async fn a_day_is_the_users_and_begins_anew() {
    for fixture in fixtures("day").await {
        let [_, prompt] = PROMPTS;
        for _ in 0..4 {
            fixture.memory.remember(&lin(), prompt).await.unwrap();
        }
        assert_eq!(fixture.count_of(prompt).await, 3);
        // Still the second of March in UTC, and the third in Shanghai.
        fixture.clock.advance(16 * HOUR);
        for _ in 0..4 {
            fixture.memory.remember(&lin(), prompt).await.unwrap();
        }
        assert_eq!(fixture.count_of(prompt).await, 6);
        let counts: Vec<u64> = fixture.turns().await.iter().filter_map(repetitions).collect();
        assert_eq!(counts, [4, 4]);
        // What an earlier transcript says was not said now.
        let earlier: memory_engine::Timestamp = "2025-11-05T08:00:00Z".parse().unwrap();
        for _ in 0..5 {
            fixture.memory.remember(&lin(), Turn::user(prompt).at(earlier)).await.unwrap();
        }
        assert_eq!(fixture.count_of(prompt).await, 11);
    }
}

#[tokio::test]
async fn a_message_that_is_sent_twice_counts_once_and_a_deleted_one_makes_room() {
    for fixture in fixtures("twice").await {
        let [prompt, _] = PROMPTS;
        let send = async |id: &str| {
            fixture.clock.advance(Duration::from_secs(10));
            fixture.memory.remember(&lin(), Turn::user(prompt).with_message_id(id)).await.unwrap()
        };
        let first = send("m1").await;
        for id in ["m1", "m2", "m3", "m3", "m2"] {
            send(id).await;
        }
        assert_eq!(fixture.count_of(prompt).await, 3);
        assert_eq!(fixture.turns().await.iter().filter_map(repetitions).count(), 0);
        assert_eq!(send("m4").await, first, "the id is that of the turn that counts it");
        assert_eq!(send("m1").await, first);
        let stored = fixture.memory.get(&lin(), first).await.unwrap().unwrap();
        assert_eq!(repetitions(&stored), Some(4), "a stored turn that is sent again keeps the count");
        fixture.memory.forget(&lin(), memory_engine::Forget::Ids(vec![first])).await.unwrap();
        let next = send("m5").await;
        assert_eq!(fixture.count_of(prompt).await, 3);
        assert_ne!(next, first);
    }
}

#[tokio::test]
async fn a_message_in_a_batch_with_other_words_is_stored() {
    for fixture in fixtures("batch").await {
        for run in 0..3 {
            fixture.say(&session(run), PROMPTS[0], "A report").await;
        }
        let turns = [Turn::user(PROMPTS[0]), Turn::assistant("The sensors are fine"), Turn::user("And the pump?")];
        let written = fixture.memory.remember_all(&session("chat"), turns).await.unwrap();
        let outcomes: Vec<_> = written.iter().map(|written| written.outcome).collect();
        assert_eq!(outcomes, [Outcome::Created; 3]);
    }
}
