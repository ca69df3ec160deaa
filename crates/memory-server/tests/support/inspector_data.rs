//! The memory that the browser tests look at: two users with some weeks of conversations, and all that an engine derives
//! from them.
//!
//! The conversations are files of `memory import`. Facts, summaries, entities, affection and moments are not written
//! here: the engine and a companion derive them, at the time of each conversation.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine::{
    EnrichmentOptions, Field, Filter, Kind, MemoryEngine, RecordId, Role, ScanQuery, Scope, Timestamp, Turn,
    audit::{AuditMode, AuditOptions},
    graph::RuleExtractor,
    history::Fork,
    retention::RecordPatch,
    review::{ReviewMode, ReviewPolicy, ReviewSource},
};
use memory_engine_companion::Companion;
use memory_engine_core::Clock;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::companion_data::{COMPANION_DAYS, CompanionDay, companion};

/// The time at which the last of the data is stored. From then on the clock of the engine runs.
pub(crate) const NOW: &str = "2026-04-20T20:00:00+08:00";
/// The user with English conversations.
pub(crate) const ANNA: &str = "anna";
/// The user with Chinese conversations.
pub(crate) const LIN: &str = "lin";
/// A tenant that no key of the tests may access. It has a user with the name of another tenant's user.
pub(crate) const OTHER_TENANT: &str = "globex";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A clock that is set while data is stored, and runs afterwards.
#[derive(Debug)]
struct SeedClock(Mutex<(Timestamp, Option<Instant>)>);

impl SeedClock {
    /// Sets the time. An earlier time than the current one is ignored.
    fn advance_to(&self, time: Timestamp) {
        let mut state = self.0.lock();
        state.0 = state.0.max(time);
    }

    fn run(&self) {
        self.0.lock().1 = Some(Instant::now());
    }
}

impl Clock for SeedClock {
    fn now(&self) -> Timestamp {
        let (time, started) = *self.0.lock();
        started.map_or(time, |started| time.after(started.elapsed()))
    }
}

/// A line of a conversation, in the format of `memory import`.
#[derive(Debug, Deserialize)]
struct Line {
    id: String,
    user: String,
    agent: Option<String>,
    session: String,
    role: Role,
    speaker: Option<String>,
    text: String,
    time: Timestamp,
    scene: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    importance: Option<f64>,
}

impl Line {
    fn scope(&self) -> Scope {
        let scope = Scope::user(&self.user).unwrap().with_session(&self.session).unwrap();
        self.agent.as_ref().map_or(scope.clone(), |agent| scope.with_agent(agent).unwrap())
    }

    /// Returns the turn, as the message with this number in its conversation, from 0.
    fn turn(&self, number: usize) -> Turn {
        let mut turn = Turn::new(self.role.clone(), &self.text).with_message_id(&self.id).at(self.time);
        turn = turn.with_sequence(number as i64 + 1).with_round(number as u32 / 2 + 1).with_tags(&self.tags);
        if let Some(speaker) = &self.speaker {
            turn = turn.with_speaker(speaker);
        }
        if let Some(scene) = &self.scene {
            turn = turn.with_scene(scene);
        }
        turn.with_importance(self.importance.unwrap_or(0.5))
    }
}

/// Creates an engine with a new SQLite file in this folder, and fills it.
pub(crate) async fn filled_engine(folder: &Path) -> MemoryEngine {
    let lines = conversations();
    let clock = Arc::new(SeedClock(Mutex::new((lines[0].time, None))));
    let engine = MemoryEngine::builder()
        .sqlite(folder.join("memory.db"))
        .clock(Arc::clone(&clock))
        .enrichment(EnrichmentOptions::rules().unwrap().with_profile(20))
        .graph(RuleExtractor::default())
        .review(ReviewPolicy::default().with(ReviewSource::Tools, ReviewMode::Review))
        .audit(AuditOptions::new(AuditMode::On))
        .build()
        .await
        .unwrap();
    store_conversations(&engine, &clock, &lines).await;
    correct(&engine, &clock).await;
    clock.advance_to(NOW.parse().unwrap());
    store_notes(&engine).await;
    store_branch(&engine).await;
    // Leases of jobs end only while the clock runs.
    clock.run();
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    engine.drain(&tenant, |_| ()).await.unwrap();
    engine
}

/// Returns the lines of all conversations in the order of time.
fn conversations() -> Vec<Line> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [root.join("tests/data/anna.jsonl"), root.join("../memory-cli/demo/conversation.jsonl")];
    let texts = files.map(|file| fs::read_to_string(&file).unwrap());
    let mut lines: Vec<Line> =
        texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line.time);
    lines
}

/// Stores each conversation at its time, and derives facts and summaries when it ends. In between, both users talk with
/// a companion.
async fn store_conversations(engine: &MemoryEngine, clock: &SeedClock, lines: &[Line]) {
    let mut days = COMPANION_DAYS.iter().peekable();
    for conversation in lines.chunk_by(|line, next| line.session == next.session) {
        while let Some(day) = days.next_if(|day| day.time() < conversation[0].time) {
            keep_company(engine, clock, day).await;
        }
        let scope = conversation[0].scope();
        for (number, line) in conversation.iter().enumerate() {
            clock.advance_to(line.time);
            engine.remember(&scope, line.turn(number)).await.unwrap();
        }
        engine.drain(&scope, |_| ()).await.unwrap();
        engine.admin().summarize_now(&scope).await.unwrap();
    }
    for day in days {
        keep_company(engine, clock, day).await;
    }
}

/// Lets a user talk with their companion on one day.
async fn keep_company(engine: &MemoryEngine, clock: &SeedClock, day: &CompanionDay) {
    let user = if day.agent == "aicy" { LIN } else { ANNA };
    let companion: Companion = companion(engine, day.agent);
    let scope = Scope::user(user).unwrap().with_agent(day.agent).unwrap();
    clock.advance_to(day.time());
    for message in day.messages {
        companion.turn(&scope, *message).await.unwrap();
    }
}

/// Corrects what went wrong: retracts a fact that the rules misunderstood, edits a turn, and forgets one.
async fn correct(engine: &MemoryEngine, clock: &SeedClock) {
    clock.advance_to("2026-04-19T21:00:00+08:00".parse().unwrap());
    let (lin, anna) = (Scope::user(LIN).unwrap(), Scope::user(ANNA).unwrap());
    // "Sesame is one year old" is about the cat.
    let ages = engine.facts(&lin).attribute("age").await.unwrap();
    let ids: Vec<RecordId> = ages.iter().map(|fact| fact.id).collect();
    engine.history().retract(&lin, &ids, "The cat is one year old, not Lin.").await.unwrap();
    let trip = find(engine, &anna, "28 March").await;
    engine.update(&anna, trip, "I'm going to Berlin on 29 March to visit Clara.").await.unwrap();
    let lunch = find(engine, &lin, "兰州拉面").await;
    engine.forget(&lin, lunch).await.unwrap();
}

/// Returns the only record with this text in it.
async fn find(engine: &MemoryEngine, scope: &Scope, part: &str) -> RecordId {
    let turns = ScanQuery::oldest(500).with_filter(Filter::eq(Field::Kind, Kind::TURN.as_str()));
    let records = engine.scan(scope, &turns).await.unwrap().records;
    let matching: Vec<_> = records.iter().filter(|record| record.text.contains(part)).collect();
    assert_eq!(matching.len(), 1, "{part}");
    matching[0].id
}

/// Stores notes that are pinned, important, about to expire, or waiting for a review, and those of another tenant.
async fn store_notes(engine: &MemoryEngine) {
    let (lin, anna) = (Scope::user(LIN).unwrap(), Scope::user(ANNA).unwrap());
    engine.remember(&lin, Turn::note("小林周三和周五在家办公").pinned().with_importance(0.9)).await.unwrap();
    engine.remember(&anna, Turn::note("Anna prefers answers in short sentences").pinned()).await.unwrap();
    engine.remember(&anna, Turn::note("The guest code of the gate is 4711").with_time_to_live(3 * DAY)).await.unwrap();
    let ticket = engine.remember(&lin, Turn::note("京都的豆腐店要提前一天确认订位")).await.unwrap();
    engine.patch(&lin, &[ticket], RecordPatch::default().importance(0.2)).await.unwrap();
    for (scope, text) in [(&anna, "Anna wants to run a half marathon in autumn"), (&lin, "小林想养第二只猫")] {
        let note = Turn::note(text).with_kind(Kind::FACT);
        engine.review().remember_from(ReviewSource::Tools, scope, note).await.unwrap();
    }
    let stranger = Scope::tenant_wide(OTHER_TENANT).unwrap().with_user(ANNA).unwrap();
    engine.remember(&stranger, "My name is Annabel Stranger and I live in Reykjavik.").await.unwrap();
    engine.drain(&stranger, |_| ()).await.unwrap();
}

/// Lets Lin's story take another course.
async fn store_branch(engine: &MemoryEngine) {
    let main = Scope::user(LIN).unwrap().with_agent("kai").unwrap().with_session("2026-04-04-night").unwrap();
    let branch = main.with_branch("hand-over").unwrap();
    engine.history().fork(&branch, Fork::at(6)).await.unwrap();
    let turns = [
        Turn::user("我把提灯放在地上，举起双手：“钥匙给你，放我们走。”").with_speaker("Lin").with_sequence(7),
        Turn::assistant("维罗妮卡没有接钥匙。“我要的从来不是门后的东西，”她说，“我要你们别开门。”")
            .with_speaker("Kai")
            .with_sequence(8),
    ];
    for turn in turns {
        engine.remember(&branch, turn.with_scene("plot").with_round(4)).await.unwrap();
    }
}
