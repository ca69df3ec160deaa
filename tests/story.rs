//! Acceptance tests of the story use case (rows R), on each backend: ticks with interventions, branches,
//! `delete-last`, forks, the graph, the debug API, and failures. Custom vector and graph stores (R16) are tested by
//! the public suite in `crates/conformance/tests/own_stores.rs`; the example runs the story as a program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;
#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/served.rs"]
mod served;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use fixtures::{TestDatabase, lin, story, trials};
use libtest_mimic::Arguments;
use memory_engine::{
    Builder, ErrorKind, Kind, RecallOptions, Record, Result, ScanQuery, Scope, State,
    embed::{Embedder, Embedding, EmbeddingSpace, HashEmbedder, Purpose},
    graph::{ChatExtractor, RuleExtractor},
    history::{Fork, Rewind},
    llm::{ScriptedModel, ScriptedReply},
};
use memory_engine_server::Debugging;
use memory_engine_story::{
    MemoryMode, StoryContext, StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait, story_enrichment,
};
use serde_json::json;
use served::{Served, server};

type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

const SOON: Wait = Wait::Until(Duration::from_secs(60));
const SHIP: &str = "Captain Holt returns on the Sea Hawk.";
const KEY: &str = "林晓月回到落霞山去取金钥匙。";

/// The messages of the main branch, tick by tick.
const STORY: [&str; 6] = [
    "Captain Holt sailed the Sea Hawk into the fog.",
    "沈砚在青石村遇见了林晓月，沈砚救了林晓月。",
    "林晓月把金钥匙藏在了落霞山的石碑下面。",
    "It was known that Captain Holt had once loved Anna Reed.",
    "The harbour master closed the gates at dusk.",
    "Snow fell on the roofs of the village.",
];

/// A memory that reads by rules, and sums up every four messages.
async fn open(test_db: &TestDatabase, mode: MemoryMode) -> StoryMemory {
    let graph = Arc::new(RuleExtractor::default());
    open_with(test_db, mode, |builder| builder.graph(graph)).await
}

async fn open_with(test_db: &TestDatabase, mode: MemoryMode, change: impl FnOnce(Builder) -> Builder) -> StoryMemory {
    // The dictionary is loaded with the first question; a busy machine takes its time.
    let options = RecallOptions::default().with_deadline(Duration::from_secs(60));
    let engine =
        test_db.open_with(|builder| change(builder.enrichment(story_enrichment(4)).recall_options(options))).await;
    StoryMemory::new(engine, mode, StoryOptions::default())
}

fn main_branch() -> Scope {
    story(Some("main"))
}

fn timeline_message(sequence: i64, text: &str) -> StoryMessage {
    StoryMessage::timeline(format!("m{sequence}"), sequence, text)
}

async fn index_texts(memory: &StoryMemory, scope: &Scope, first: i64, texts: &[&str]) {
    for (sequence, text) in (first..).zip(texts) {
        let done = memory.index(scope, timeline_message(sequence, text), SOON).await;
        assert!(done.complete, "{done:?}");
    }
}

fn turn_with_pending(pending: &str) -> StoryTurn {
    StoryTurn::after([StoryMessage::timeline("now", 90, "天黑了。")]).with_pending([pending])
}

/// Returns the context of the prompt, after checking that nothing is degraded.
async fn whole_context(memory: &StoryMemory, scope: &Scope, pending: &str) -> StoryContext {
    let context = memory.context(scope, &turn_with_pending(pending)).await;
    assert_eq!(context.degraded, []);
    context
}

async fn all_records(memory: &StoryMemory) -> Vec<Record> {
    memory.engine().scan(&lin(), &ScanQuery::oldest(500)).await.unwrap().records
}

async fn r1_r5_r7_context_cites_messages_and_keeps_consumed_interventions(test_db: TestDatabase) {
    let memory = open(&test_db, MemoryMode::Graph).await;
    let scope = main_branch();
    let (mut timeline, mut prompts) = (Vec::<StoryMessage>::new(), Vec::new());
    let pending = ["", "", "", "", "Nobody may warn the Sea Hawk.", KEY];
    for (sequence, (text, pending)) in (1..).zip(STORY.into_iter().zip(pending)) {
        let recent = timeline[timeline.len().saturating_sub(2)..].to_vec();
        let turn = StoryTurn::after(recent).with_pending((!pending.is_empty()).then_some(pending));
        let context = memory.context(&scope, &turn).await;
        assert_eq!(context.degraded, []);
        prompts.push(context.text);
        let consumed = StoryMessage::intervention(format!("i{sequence}"), sequence, pending);
        for message in (!pending.is_empty()).then_some(consumed).into_iter().chain([timeline_message(sequence, text)]) {
            assert!(memory.index(&scope, message, SOON).await.complete);
        }
        timeline.push(timeline_message(sequence, text));
    }
    assert_eq!(prompts[0], "", "a story begins with nothing");
    assert!(prompts[4].contains("Captain Holt sailed the Sea Hawk into the fog. [msg m1 / seq 1]"), "{}", prompts[4]);
    let last = &prompts[5];
    let lines = [
        "Treat what follows as established facts",
        "## Memory Snippets",
        "- 林晓月把金钥匙藏在了落霞山的石碑下面。 [msg m3 / seq 3]",
        "## Key Entities",
        "落霞山 (place) [msg m3 / seq 3]",
        "## Relations",
    ];
    let places: Vec<usize> =
        lines.iter().map(|line| last.find(line).unwrap_or_else(|| panic!("{line}:\n{last}"))).collect();
    assert!(places.is_sorted(), "{last}");
    assert!(!last.contains("harbour master"), "the prompt has the latest messages anyway: {last}");
    let records = all_records(&memory).await;
    let of = |kind: Kind| records.iter().filter(|record| record.kind == kind).collect::<Vec<_>>();
    assert_eq!(of(Kind::TURN).iter().filter(|turn| turn.tags == [StoryMessage::INTERVENTION]).count(), 2);
    assert_eq!(of(Kind::SUMMARY).len(), 2, "eight messages, a summary each four");
}

async fn r2_r3_modes_and_session_isolation(test_db: TestDatabase) {
    let scope = main_branch();
    let on = open(&test_db, MemoryMode::Vector).await;
    index_texts(&on, &scope, 1, &STORY[..1]).await;
    let context = whole_context(&on, &scope, SHIP).await;
    assert!(context.text.contains("[msg m1 / seq 1]") && !context.text.contains("Key Entities"), "{}", context.text);
    assert_eq!(on.engine().graph().store().stats(&lin()).await.unwrap().records, 0, "vector makes no graph");
    let before = on.engine().stats(&lin()).await.unwrap();
    let off = StoryMemory::new(on.engine().clone(), MemoryMode::default(), StoryOptions::default());
    let done = off.index(&scope, timeline_message(2, "The fog lifted."), Wait::No).await;
    assert_eq!((done.record, done.complete), (None, false));
    assert_eq!(whole_context(&off, &scope, SHIP).await.text, "");
    assert_eq!(on.engine().stats(&lin()).await.unwrap(), before);
    let mei = Scope::user("mei").unwrap().with_session("story").unwrap().with_branch("main").unwrap();
    let another = lin().with_session("another").unwrap().with_branch("main").unwrap();
    for foreign in [story(Some("other")), another, mei] {
        assert_eq!(whole_context(&on, &foreign, SHIP).await.text, "", "{foreign:?}");
    }
}

async fn r3_r9_r10_branches_inherit_and_share_deletions(test_db: TestDatabase) {
    let memory = open(&test_db, MemoryMode::Graph).await;
    let engine = memory.engine();
    let branches = ["main", "mercy", "late", "alone"].map(|name| story(Some(name)));
    let [main, mercy, late, alone] = &branches;
    index_texts(&memory, main, 1, &STORY[..4]).await;
    engine.history().fork(mercy, Fork::at(2).from_branch("main")).await.unwrap();
    index_texts(&memory, mercy, 3, &["Captain Holt burned the Sea Hawk in Grey Harbour.", "雪停了。"]).await;
    engine.history().fork(late, Fork::at(3).from_branch("mercy")).await.unwrap();
    engine.history().fork(alone, Fork::at(2).from_branch("main").alone()).await.unwrap();
    let ships = async |branch: &Scope| {
        let text = whole_context(&memory, branch, SHIP).await.text;
        ["into the fog", "Anna Reed", "burned"].map(|words| text.contains(words))
    };
    assert_eq!(ships(main).await, [true, true, false]);
    assert_eq!(ships(mercy).await, [true, false, true], "its parent's up to the fork, and its own");
    assert_eq!(ships(late).await, [true, false, true], "a fork of a fork");
    assert_eq!(ships(alone).await, [false, false, false], "its own only, by policy");
    assert!(
        whole_context(&memory, main, KEY).await.text.contains("石碑")
            && !whole_context(&memory, late, KEY).await.text.contains("石碑")
    );

    let last = engine.history().rewind(main, Rewind::Last(1)).await.unwrap();
    assert_eq!(ships(main).await, [true, false, false], "delete-last");
    let context = whole_context(&memory, main, "Anna Reed loved Captain Holt.").await;
    assert!(!context.text.contains("Reed"), "nor of its entities and relations: {}", context.text);
    let summaries = async || {
        let of_main = |r: &&Record| r.kind == Kind::SUMMARY && r.state == State::Active && r.scope == *main;
        all_records(&memory).await.iter().filter(of_main).count()
    };
    assert_eq!(summaries().await, 0, "a summary goes with what it covers");
    let fire = engine.history().rewind(mercy, Rewind::To(2)).await.unwrap();
    assert_eq!((ships(mercy).await, ships(late).await), ([true, false, false], [true, false, false]));
    engine.history().restore(main, last.id).await.unwrap();
    engine.history().restore(mercy, fire.id).await.unwrap();
    engine.drain(&lin(), |_| ()).await.unwrap();
    assert_eq!((ships(main).await, ships(late).await), ([true, true, false], [true, false, true]), "undone");
    assert_eq!(summaries().await, 1);
}

/// An embedder of one's own: the hash embedder, which is asked about and may be out of order.
#[derive(Debug, Default)]
struct Counting {
    inner: HashEmbedder,
    batches: Mutex<Vec<usize>>,
    broken: Mutex<bool>,
}

#[async_trait]
impl Embedder for Counting {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    fn max_batch(&self) -> usize {
        64
    }
    fn semantic_weight(&self) -> f64 {
        1.0 // worth keeping in the cache
    }
    fn score_floor(&self) -> f64 {
        self.inner.score_floor()
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if *self.broken.lock().unwrap() {
            return Err(memory_engine::Error::new(ErrorKind::Unavailable, "embed", "the service answers 503"));
        }
        self.batches.lock().unwrap().push(texts.len());
        self.inner.embed(texts, purpose).await
    }
}

async fn r4_r6_r12_chunks_cite_messages_and_texts_are_embedded_once(test_db: TestDatabase) {
    let embedder = Arc::new(Counting::default());
    let memory = open_with(&test_db, MemoryMode::Vector, |builder| builder.embedder(embedder.clone())).await;
    let log: String = (1..=120)
        .map(|n| format!("On day {n} the Sea Hawk passed the lighthouse of Cape {n}. 第{n}天，风向没有变。"))
        .collect();
    index_texts(&memory, &main_branch(), 1, &[STORY[0], &log]).await;
    let records = all_records(&memory).await;
    let chunks: Vec<&Record> = records.iter().filter(|record| record.kind == Kind::CHUNK).collect();
    assert!((3..60).contains(&chunks.len()), "{}", chunks.len());
    let whole = records.iter().find(|record| record.text == log).unwrap();
    for chunk in &chunks {
        assert_eq!(chunk.derived_from, [whole.id]);
        assert_eq!((chunk.source.message_id.as_deref(), chunk.source.sequence), (Some("m2"), Some(2)));
        assert!(chunk.text.trim_end().ends_with(['.', '。']), "a part ends with a sentence: {}", chunk.text);
    }
    // The expected hash was computed by another program: BLAKE3 of the words in lower case.
    let first = records.iter().find(|record| record.text == STORY[0]).unwrap();
    let expected = "fb0ca4e373e683f6cce1459b5c4e35d15e6ebb4f4cdd772a270298beb9e0537b";
    assert_eq!(first.content_hash().to_string(), expected);
    let hashes: BTreeSet<String> = chunks.iter().map(|chunk| chunk.content_hash().to_string()).collect();
    assert_eq!(hashes.len(), chunks.len(), "other texts have other hashes");
    let context = whole_context(&memory, &main_branch(), "The lighthouse of Cape 77 is seen.").await;
    assert!(context.text.contains("[msg m2 / seq 2]"), "{}", context.text);
    assert!(context.snippets[0].kind == Kind::CHUNK && context.snippets[0].text.contains("Cape 77"), "{context:?}");
    assert!(context.text.chars().count() < log.len() / 4, "a part of it, not all of it");

    let asked = |embedder: &Counting| embedder.batches.lock().unwrap().iter().sum::<usize>();
    assert!(embedder.batches.lock().unwrap().iter().any(|texts| *texts > 2), "parts go in batches");
    let before = asked(&embedder);
    index_texts(&memory, &story(Some("again")), 1, &[&log]).await;
    assert_eq!(asked(&embedder), before, "the same texts on another branch come from the cache");
    index_texts(&memory, &main_branch(), 2, &[&log]).await;
    let again = all_records(&memory).await.iter().filter(|record| record.scope == main_branch()).count();
    assert_eq!(again, records.len(), "the same message twice is one");
}

async fn r8_r15_r16_graph_by_model_and_fallbacks(test_db: TestDatabase) {
    let reply = r#"{"entities": [{"name": "沈砚", "type": "person", "aliases": ["阿砚"]}, {"name": "青云门", "type": "org"}],
        "relations": [{"source": "阿砚", "relation": "弟子", "target": "青云门"}, {"source": "沈砚", "relation": "knows", "target": "nobody"}]}"#;
    let model =
        ScriptedModel::default().when_asked("青云门", reply).otherwise(ScriptedReply::Fail(ErrorKind::Unavailable));
    let (graph, embedder) = (Arc::new(ChatExtractor::new(Arc::new(model))), Arc::new(Counting::default()));
    let equip = |builder: Builder| builder.graph(graph).embedder(embedder.clone());
    let memory = open_with(&test_db, MemoryMode::Graph, equip).await;
    index_texts(&memory, &main_branch(), 1, &["阿砚，也就是沈砚，是青云门的弟子。"]).await;
    let context = whole_context(&memory, &main_branch(), "阿砚现在在哪？").await;
    assert!(
        context.text.contains("沈砚 — 弟子 → 青云门 [msg m1 / seq 1]"),
        "an alias is the same one: {}",
        context.text
    );
    assert_eq!(context.facts.relations.len(), 1, "nobody is no entity: {:?}", context.facts.relations);

    *embedder.broken.lock().unwrap() = true;
    let late = timeline_message(2, "The queen opened the gate of the castle.");
    let done = memory.index(&main_branch(), late, Wait::Until(Duration::from_secs(2))).await;
    assert!(done.record.is_some() && !done.complete, "{done:?}");
    let stages: Vec<&str> = done.degraded.iter().map(|part| part.stage).collect();
    assert!(stages.contains(&"graph") && stages.contains(&"embedding"), "{:?}", done.degraded);
    let context =
        memory.context(&main_branch(), &turn_with_pending("The queen stands at the gate of the castle.")).await;
    assert!(context.text.contains("[msg m2 / seq 2]"), "found by its words: {context:?}");
    assert!(context.degraded.iter().any(|part| part.stage == "vector"), "{:?}", context.degraded);
}

async fn r11_unconfirmed_and_retracted_memories_are_not_used(test_db: TestDatabase) {
    let memory = open(&test_db, MemoryMode::Graph).await;
    let sure = StoryOptions::default().with_min_confidence(0.5);
    let sure = StoryMemory::new(memory.engine().clone(), MemoryMode::Graph, sure);
    let rumour = |confidence| timeline_message(1, "据说林晓月死在了落霞山。").with_confidence(confidence);
    assert!(memory.index(&main_branch(), rumour(0.3), SOON).await.complete);
    let dead = "林晓月死在了落霞山？";
    assert!(whole_context(&memory, &main_branch(), dead).await.text.contains("据说林晓月死在了落霞山"));
    assert_eq!(whole_context(&sure, &main_branch(), dead).await.text, "");
    let confirmed = memory.index(&main_branch(), rumour(0.9), SOON).await;
    assert!(whole_context(&sure, &main_branch(), dead).await.text.contains("据说林晓月死在了落霞山"));

    index_texts(&memory, &main_branch(), 2, &STORY[..3]).await;
    let summaries = async || {
        all_records(&memory).await.into_iter().filter(|r| r.kind == Kind::SUMMARY && r.state == State::Active).count()
    };
    assert_eq!(summaries().await, 1);
    let wrong = confirmed.record.unwrap();
    memory.engine().history().retract(&main_branch(), &[wrong], "she lives").await.unwrap();
    assert_eq!(summaries().await, 0, "what came of it is gone, too");
    let context = whole_context(&memory, &main_branch(), "林晓月在落霞山。").await;
    assert!(!context.text.contains("据说") && !context.text.contains("m1 /"), "{}", context.text);
}

async fn r14_debug_api_counts_explains_and_reindexes(test_db: TestDatabase) {
    let memory = open(&test_db, MemoryMode::Graph).await;
    index_texts(&memory, &main_branch(), 1, &STORY).await;
    let engine = memory.engine();
    let api = Served::new(server(engine).debugging(Debugging::new(engine.clone()))).await;
    let stats = api.get("api/memory/story/stats?user_id=lin").await.json();
    assert_eq!((&stats["kinds"]["turn"], &stats["kinds"]["summary"]), (&json!(6), &json!(1)), "{stats}");
    assert_eq!(api.get("api/memory/another/stats?user_id=lin").await.json()["records"], 0);

    let question = json!({ "query": "金钥匙在哪？", "limit": 3 });
    let found = api.post("api/memory/story/search?user_id=lin&branch=main", &[], &question).await.json();
    let first = &found["hits"][0];
    assert_eq!(first["record"]["text"], STORY[2], "{found}");
    assert!(first["explanation"].as_str().unwrap().contains("keyword #1"), "{first}");
    assert!(found["stages"].as_array().unwrap().iter().all(|stage| stage["ms"].is_number()));

    let begun = api.post("api/memory/story/reindex?user_id=lin", &[], &json!({})).await;
    assert_eq!((begun.status, &begun.json()["status"]), (202, &json!("running")), "{}", begun.body);
    engine.drain(&lin(), |_| ()).await.unwrap();
    let id = begun.json()["id"].as_str().unwrap().to_owned();
    let done = api.get(&format!("api/memory/story/reindex/{id}?user_id=lin")).await.json();
    assert_eq!((&done["status"], &done["waiting"]), (&json!("done"), &json!(0)));
    assert!(whole_context(&memory, &main_branch(), KEY).await.text.contains("石碑"));
}

macro_rules! tests {
    ($($name:ident,)*) => { vec![$((stringify!($name), (|test_db| Box::pin($name(test_db))) as TestFn)),*] };
}

fn main() {
    let tests: Vec<Test> = tests! {
        r1_r5_r7_context_cites_messages_and_keeps_consumed_interventions,
        r2_r3_modes_and_session_isolation,
        r3_r9_r10_branches_inherit_and_share_deletions,
        r4_r6_r12_chunks_cite_messages_and_texts_are_embedded_once,
        r8_r15_r16_graph_by_model_and_fallbacks,
        r11_unconfirmed_and_retracted_memories_are_not_used,
        r14_debug_api_counts_explains_and_reindexes,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
