//! Tests of the story memory: context, indexing, and failures.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod broken_store;
#[path = "../../memory-engine/tests/integration/given/mod.rs"]
mod given;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use broken_store::BrokenStore;
use given::{Backend, FlakyEmbedder, lin};
use memory_engine::{
    Error, ErrorKind, Field, Filter, Kind, MemoryEngine, RecallOptions, Record, Result, ScanQuery, Scope, Timestamp,
    context::{Characters, StorySections},
    embed::{DefaultEmbedder, Embedder},
    graph::{Extraction, GraphExtractor, RuleExtractor},
    history::{Fork, Rewind},
    store::Stores,
    testing::ManualClock,
};
use memory_engine_story::{MemoryMode, StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait, story_enrichment};
use memory_engine_summarizer::{Chunker, ExtractiveSummarizer, Summarizer, Summary, SummaryRequest};
use tokio::time::Instant;

const SOON: Wait = Wait::Until(Duration::from_secs(60));

fn branch(name: &str) -> Scope {
    lin().with_session("story").unwrap().with_branch(name).unwrap()
}

/// The first messages of a story in two languages.
fn messages() -> Vec<StoryMessage> {
    let texts = [
        "Captain Holt sailed the Sea Hawk into the fog off Grey Harbour.",
        "沈砚在青石村遇见了林晓月，沈砚救了林晓月。",
        "The harbour master closed the gates at dusk, and nobody was let in.",
        "林晓月把金钥匙藏在了落霞山的石碑下面。",
        "It was known that Captain Holt had once loved Anna Reed.",
    ];
    (1..).zip(texts).map(|(n, text)| StoryMessage::timeline(format!("m{n}"), n, text)).collect()
}

async fn index_all(memory: &StoryMemory, scope: &Scope, messages: impl IntoIterator<Item = StoryMessage>) {
    for message in messages {
        let done = memory.index(scope, message, SOON).await;
        assert!(done.complete && done.record.is_some(), "{done:?}");
    }
}

async fn memory(backend: &Backend, mode: MemoryMode) -> StoryMemory {
    // The first query loads the dictionary, which is slow on a busy machine.
    let options = RecallOptions::default().with_deadline(Duration::from_secs(60));
    let builder = backend.builder().graph(Arc::new(RuleExtractor::default())).recall_options(options);
    let builder = builder.background(false);
    StoryMemory::new(builder.build().await.unwrap(), mode, StoryOptions::default())
}

fn about(pending: &str) -> StoryTurn {
    StoryTurn::after([StoryMessage::timeline("now", 90, "Night fell.")]).with_pending([pending])
}

async fn all(engine: &MemoryEngine) -> Vec<Record> {
    engine.scan(&lin(), &ScanQuery::oldest(500)).await.unwrap().records
}

#[tokio::test]
async fn r7_a_prompt_gets_snippets_entities_and_relations_each_with_its_message() {
    for backend in Backend::all() {
        let memory = memory(&backend, MemoryMode::Graph).await;
        index_all(&memory, &branch("main"), messages()).await;
        let turn = about("林晓月回到落霞山去取金钥匙。").with_pending(["Anna Reed looks for Captain Holt."]);
        let context = memory.context(&branch("main"), &turn).await;
        assert_eq!(context.degraded, []);
        for line in [
            "Treat what follows as established facts",
            "- 林晓月把金钥匙藏在了落霞山的石碑下面。 [msg m4 / seq 4]",
            "- It was known that Captain Holt had once loved Anna Reed. [msg m5 / seq 5]",
            "## Key Entities",
            "- Captain Holt (person) [msg m5 / seq 5]",
            "## Relations",
            "沈砚",
            "Sea Hawk",
        ] {
            assert!(context.text.contains(line), "{line} is missing:\n{}", context.text);
        }
        let relation =
            context.facts.relations.iter().find(|edge| edge.target.contains("Reed") || edge.source.contains("Reed"));
        assert_eq!(relation.unwrap().citation.message_id.as_deref(), Some("m5"));
        assert!(!context.text.contains("harbour master"), "not relevant:\n{}", context.text);
        // The first message also names Captain Holt, and the second 林晓月.
        assert_eq!(context.snippets.iter().filter_map(|r| r.source.sequence).collect::<Vec<_>>(), [1, 2, 4, 5]);

        let small = StorySections::default().with_limit(160);
        let counted =
            StoryMemory::new(memory.engine().clone(), MemoryMode::Graph, StoryOptions::default().with_sections(small));
        let context = counted.with_counter(Arc::new(Characters)).context(&branch("main"), &turn).await;
        assert!(context.text.chars().count() <= 160 && context.tokens == context.text.chars().count());
    }
}

#[tokio::test]
async fn r2_vector_has_no_graph_and_what_fits_nothing_is_not_told() {
    for backend in Backend::all() {
        let memory = memory(&backend, MemoryMode::Vector).await;
        index_all(&memory, &branch("main"), messages()).await;
        let engine = memory.engine();
        assert_eq!(engine.graph().store().stats(&lin()).await.unwrap().records, 0, "no extraction");
        assert_eq!(engine.stats(&lin()).await.unwrap().queued.values().sum::<u64>(), 0, "no queued extraction");
        let context = memory.context(&branch("main"), &about("Captain Holt returns on the Sea Hawk.")).await;
        assert!(context.text.contains("[msg m1 / seq 1]"), "{}", context.text);
        assert!(!context.text.contains("## Key Entities") && context.facts.entities.is_empty(), "{}", context.text);
        let context = memory.context(&branch("main"), &about("量子计算机开始运行。")).await;
        assert_eq!((context.text.as_str(), context.tokens, context.snippets.len()), ("", 0, 0));
        assert_eq!(context.degraded, [], "an empty result is not a failure");
        assert_eq!(memory.context(&branch("main"), &StoryTurn::default()).await.text, "");
    }
}

#[tokio::test]
async fn r1_what_is_in_the_prompt_already_is_not_told_again() {
    let memory = memory(&Backend::all()[0], MemoryMode::Graph).await;
    index_all(&memory, &branch("main"), messages()).await;
    let recent = StoryTurn::after(messages().split_off(3));
    let context = memory.context(&branch("main"), &recent.with_pending(["林晓月在青石村。金钥匙不见了。"])).await;
    let shown: Vec<i64> = context.snippets.iter().filter_map(|record| record.source.sequence).collect();
    assert_eq!(shown, [2], "{}", context.text);
    assert!(!context.text.contains("msg m4") && !context.text.contains("msg m5"), "{}", context.text);
}

fn in_memory() -> Stores {
    Stores::in_memory(DefaultEmbedder::default().space().clone())
}

/// Stores that all fail, except for synonyms.
fn broken_stores(store: &Arc<BrokenStore>) -> Stores {
    Stores {
        records: store.clone(),
        jobs: store.clone(),
        keywords: store.clone(),
        vectors: store.clone(),
        graph: store.clone(),
        ..in_memory()
    }
}

#[tokio::test]
async fn r2_off_touches_no_store() {
    let store = Arc::new(BrokenStore::default());
    let builder = MemoryEngine::builder().stores(broken_stores(&store)).graph(RuleExtractor::default());
    let builder = builder.background(false);
    let engine = builder.build().await.unwrap();
    let off = StoryMemory::new(engine.clone(), MemoryMode::default(), StoryOptions::default());
    let done = off.index(&branch("main"), messages().remove(0), SOON).await;
    assert_eq!((done.record, done.complete, done.degraded.len()), (None, false, 0));
    assert_eq!(off.index(&branch("main"), messages().remove(1), Wait::No).await.degraded, []);
    let context = off.context(&branch("main"), &about("Captain Holt")).await;
    assert_eq!((context.text.as_str(), context.degraded.len()), ("", 0));
    assert_eq!(store.calls(), 0);

    // The same failing stores with the memory on: the result lists the failures.
    for mode in [MemoryMode::Vector, MemoryMode::Graph] {
        let before = store.calls();
        let on = StoryMemory::new(engine.clone(), mode, StoryOptions::default());
        let done = on.index(&branch("main"), messages().remove(0), SOON).await;
        assert!(done.record.is_none() && done.degraded[0].reason.contains("out of order"), "{done:?}");
        let context = on.context(&branch("main"), &about("Captain Holt")).await;
        assert!(context.text.is_empty() && !context.degraded.is_empty(), "{context:?}");
        assert!(store.calls() > before, "the memory uses these stores");
    }
}

#[tokio::test]
async fn r15_an_embedder_that_fails_costs_the_vectors_and_neither_message_nor_story() {
    for backend in Backend::all() {
        let embedder = Arc::new(FlakyEmbedder::default());
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_772_000_000_000_000)));
        let builder = backend.builder().embedder(embedder.clone()).clock(clock.clone());
        let engine = builder.background(false).build().await.unwrap();
        let memory = StoryMemory::new(engine, MemoryMode::Vector, StoryOptions::default());
        embedder.fail(true);
        let done = memory.index(&branch("main"), messages().remove(0), SOON).await;
        assert!(done.record.is_some() && !done.complete, "{done:?}");
        assert!(done.degraded.iter().any(|stage| stage.reason.contains("out of order")), "{done:?}");
        let context = memory.context(&branch("main"), &about("Captain Holt returns on the Sea Hawk.")).await;
        assert!(context.text.contains("[msg m1 / seq 1]"), "found by keywords: {context:?}");
        assert!(context.degraded.iter().any(|stage| stage.stage == "vector"), "{:?}", context.degraded);
        embedder.fail(false);
        clock.advance(Duration::from_secs(1)); // the retry delay
        memory.engine().drain(&lin(), |_| ()).await.unwrap();
        assert_eq!(memory.context(&branch("main"), &about("Captain Holt")).await.degraded, []);
    }
}

/// An extractor that fails or never completes.
#[derive(Debug)]
enum FailingExtractor {
    Failing,
    Hanging,
}

#[async_trait]
impl GraphExtractor for FailingExtractor {
    async fn extract(&self, _: &Record) -> Result<Extraction> {
        match self {
            Self::Failing => Err(Error::new(ErrorKind::Unavailable, "extract", "the model is out of order")),
            Self::Hanging => std::future::pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r15_a_graph_that_fails_leaves_vectors_and_words() {
    for (extractor, reason) in
        [(FailingExtractor::Failing, "the model is out of order"), (FailingExtractor::Hanging, "after 300 ms")]
    {
        let engine = MemoryEngine::builder().in_memory().graph(Arc::new(extractor)).background(false).build().await;
        let memory = StoryMemory::new(engine.unwrap(), MemoryMode::Graph, StoryOptions::default());
        let started = Instant::now();
        let done = memory.index(&branch("main"), messages().remove(0), Wait::Until(Duration::from_millis(300))).await;
        assert!(started.elapsed() < Duration::from_millis(400), "the time limit was exceeded: {:?}", started.elapsed());
        assert!(done.record.is_some() && !done.complete, "{done:?}");
        assert!(done.degraded.iter().any(|stage| stage.reason.contains(reason)), "{done:?}");
        let context = memory.context(&branch("main"), &about("Captain Holt returns on the Sea Hawk.")).await;
        assert!(context.text.contains("[msg m1 / seq 1]") && !context.text.contains("Key Entities"), "{context:?}");
    }
    let stores = Stores { graph: Arc::new(BrokenStore::default()), ..in_memory() };
    let builder = MemoryEngine::builder().stores(stores).graph(RuleExtractor::default());
    let engine = builder.background(false).build().await.unwrap();
    let memory = StoryMemory::new(engine, MemoryMode::Graph, StoryOptions::default());
    let done = memory.index(&branch("main"), messages().remove(0), SOON).await;
    assert!(
        done.degraded.iter().any(|stage| stage.stage == "graph" && stage.reason.contains("out of order")),
        "{done:?}"
    );
    let context = memory.context(&branch("main"), &about("Captain Holt returns on the Sea Hawk.")).await;
    assert!(context.text.contains("[msg m1 / seq 1]"), "{context:?}");
    assert!(context.degraded.iter().any(|stage| stage.stage == "graph"), "{context:?}");

    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let memory = StoryMemory::new(engine, MemoryMode::Graph, StoryOptions::default());
    let done = memory.index(&branch("main"), messages().remove(0), SOON).await;
    assert!(done.degraded[0].reason.contains("Builder::graph"), "the missing extractor is reported: {done:?}");
}

#[tokio::test]
async fn r1_without_waiting_a_message_is_found_by_its_words_at_once_and_the_rest_follows() {
    let embedder = Arc::new(FlakyEmbedder::default());
    let engine = MemoryEngine::builder().in_memory().embedder(embedder.clone()).build().await.unwrap();
    let memory = StoryMemory::new(engine, MemoryMode::Vector, StoryOptions::default());
    let blocked = embedder.block_calls();
    let done = memory.index(&branch("main"), messages().remove(1), Wait::No).await;
    assert!(done.record.is_some() && !done.complete && done.degraded.is_empty(), "{done:?}");
    let waited = memory.index(&branch("main"), messages().remove(3), Wait::Until(Duration::from_millis(50))).await;
    assert!(waited.record.is_some() && waited.degraded[0].reason.contains("after 50 ms"), "{waited:?}");
    drop(blocked);
    memory.engine().drain(&lin(), |_| ()).await.unwrap();
    assert_eq!(memory.engine().stats(&lin()).await.unwrap().queued.values().sum::<u64>(), 0);
    let context = memory.context(&branch("main"), &about("沈砚在青石村。金钥匙在石碑下面。")).await;
    assert_eq!(context.snippets.len(), 2, "{context:?}");
}

#[tokio::test]
async fn r5_kinds_are_kept_as_configured_and_every_few_messages_are_summarized() {
    for backend in Backend::all() {
        let engine = backend.builder().enrichment(story_enrichment(3)).background(false).build().await.unwrap();
        let options = StoryOptions::default().with_kinds(["system_report", StoryMessage::INTERVENTION]);
        let memory = StoryMemory::new(engine, MemoryMode::Vector, options);
        let mut story = messages();
        story[0] = story[0].clone().with_kind("system_report");
        story[1] = StoryMessage::intervention("m2", 2, "让沈砚在青石村遇见林晓月。");
        story[3] = story[3].clone().with_kind("system_report");
        for message in story.clone() {
            let kept = memory.index(&branch("main"), message.clone(), SOON).await;
            assert_eq!((kept.record.is_some(), kept.degraded.len()), (message.kind != StoryMessage::TIMELINE, 0));
        }
        let records = all(memory.engine()).await;
        let turns: Vec<i64> =
            records.iter().filter(|r| r.kind == Kind::TURN).filter_map(|r| r.source.sequence).collect();
        assert_eq!(turns, [1, 2, 4]);
        assert_eq!(records.iter().filter(|r| r.tags == ["intervention"]).count(), 1);
        let summaries: Vec<&Record> = records.iter().filter(|r| r.kind == Kind::SUMMARY).collect();
        assert_eq!(summaries.iter().map(|summary| summary.derived_from.len()).collect::<Vec<_>>(), [3]);
        let turn_after = |recent: Vec<StoryMessage>| StoryTurn::after(recent).with_pending([summaries[0].text.clone()]);
        let context = memory.context(&branch("main"), &turn_after(Vec::new())).await;
        let shown: Vec<&Kind> = context.snippets.iter().map(|record| &record.kind).collect();
        assert!(
            shown.contains(&&Kind::TURN) && !shown.contains(&&Kind::SUMMARY),
            "a summary next to its messages: {context:?}"
        );
        let context = memory.context(&branch("main"), &turn_after(story)).await;
        assert_eq!(context.text, "", "a summary of messages in the prompt is not shown");
    }
}

#[tokio::test]
async fn r12_a_message_has_at_most_the_configured_number_of_chunks() {
    let work = story_enrichment(9).with_chunks(Chunker::default().with_max_chunks(2));
    let engine = MemoryEngine::builder().in_memory().enrichment(work).background(false).build().await.unwrap();
    let memory = StoryMemory::new(engine, MemoryMode::Vector, StoryOptions::default());
    let log: String = (1..=120).map(|day| format!("On day {day} the Sea Hawk passed Cape {day}. ")).collect();
    index_all(&memory, &branch("main"), [StoryMessage::timeline("m1", 1, log)]).await;
    let chunks = all(memory.engine()).await.into_iter().filter(|record| record.kind == Kind::CHUNK).count();
    assert_eq!(chunks, 2);
}

#[tokio::test]
async fn r6_newer_messages_come_first_and_equal_texts_are_told_once() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_772_000_000_000_000)));
    let builder = MemoryEngine::builder().in_memory().clock(clock.clone()).background(false);
    let engine = builder.build().await.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let first_snippet = async |min_recency_weight| {
        let one = StorySections::default().with_max_entries(1, 0, 0);
        let options = StoryOptions::default().with_sections(one).with_recency(day, min_recency_weight);
        let memory = StoryMemory::new(engine.clone(), MemoryMode::Vector, options);
        let context = memory.context(&branch("main"), &about("Who keeps the silver crown in the tower?")).await;
        context.snippets[0].source.sequence
    };
    let memory = StoryMemory::new(engine.clone(), MemoryMode::Vector, StoryOptions::default());
    let golden = "The queen keeps the golden crown in the tower.";
    let silver = StoryMessage::timeline("m1", 1, "The queen keeps the silver crown in the tower.");
    index_all(&memory, &branch("main"), [silver]).await;
    clock.advance(60 * day);
    index_all(&memory, &branch("main"), [StoryMessage::timeline("m2", 2, golden)]).await;
    assert_eq!(first_snippet(1.0).await, Some(1), "the age does not matter");
    assert_eq!(first_snippet(0.0).await, Some(2), "a message of two months ago weighs less");
    index_all(&memory, &branch("main"), [StoryMessage::timeline("m3", 3, golden)]).await;
    let context = memory.context(&branch("main"), &about("Who keeps the golden crown in the tower?")).await;
    assert_eq!(context.text.matches("golden").count(), 1, "{}", context.text);
}

/// Summarizes with a sentence that no message contains.
#[derive(Debug)]
struct FixedSummarizer;

#[async_trait]
impl Summarizer for FixedSummarizer {
    async fn summarize(&self, turns: &[Record], request: &SummaryRequest) -> Result<Summary> {
        let mut summary = ExtractiveSummarizer::default().summarize(turns, request).await?;
        summary.text = "The pirates reached the lagoon of Port Royal.".to_owned();
        Ok(summary)
    }
}

#[tokio::test]
async fn r7_a_summary_cites_its_messages_and_gives_way_to_them() {
    for backend in Backend::all() {
        let work = story_enrichment(3).with_summaries(Arc::new(FixedSummarizer));
        let engine = backend.builder().enrichment(work).background(false).build().await.unwrap();
        let memory = StoryMemory::new(engine.clone(), MemoryMode::Vector, StoryOptions::default());
        index_all(&memory, &branch("main"), messages().into_iter().take(3)).await;
        let lagoon = about("Who reached the lagoon of Port Royal?");
        let context = memory.context(&branch("main"), &lagoon).await;
        let line = "- The pirates reached the lagoon of Port Royal. [msg m1, m2, m3 / seq 1–3]";
        assert!(context.text.contains(line), "{}", context.text);
        assert_eq!(context.snippets.iter().map(|record| &record.kind).collect::<Vec<_>>(), [&Kind::SUMMARY]);
        engine.history().fork(&branch("fork"), Fork::at(3).from_branch("main")).await.unwrap();
        assert!(memory.context(&branch("fork"), &lagoon).await.text.contains(line), "the messages of the parent");

        // A message takes the only place, although its query comes second.
        let one = StorySections::default().with_max_entries(1, 0, 0);
        let memory = StoryMemory::new(engine, MemoryMode::Vector, StoryOptions::default().with_sections(one));
        let queries = lagoon.with_pending(["The harbour master closed the gates at dusk."]);
        let context = memory.context(&branch("main"), &queries).await;
        assert!(context.text.contains("[msg m3 / seq 3]") && !context.text.contains("lagoon"), "{}", context.text);
    }
}

#[tokio::test]
async fn r11_what_is_not_sure_can_be_left_out() {
    let engine = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    let all = StoryMemory::new(engine.clone(), MemoryMode::Vector, StoryOptions::default());
    index_all(&all, &branch("main"), [messages().remove(0).with_confidence(0.4)]).await;
    let turn = about("Captain Holt returns on the Sea Hawk.");
    assert_eq!(all.context(&branch("main"), &turn).await.snippets.len(), 1);
    let options = StoryOptions::default().with_min_confidence(0.5);
    let sure = StoryMemory::new(engine, MemoryMode::Vector, options);
    assert_eq!(sure.context(&branch("main"), &turn).await.snippets.len(), 0);
}

#[tokio::test]
async fn r3_r9_r10_a_story_sees_its_branch_and_what_it_inherits_and_nothing_that_was_taken_back() {
    for backend in Backend::all() {
        let memory = memory(&backend, MemoryMode::Graph).await;
        let (engine, main, other) = (memory.engine(), branch("main"), branch("other"));
        index_all(&memory, &main, messages()).await;
        engine.history().fork(&other, Fork::at(2).from_branch("main")).await.unwrap();
        index_all(
            &memory,
            &other,
            [StoryMessage::timeline("o3", 3, "Captain Holt burned the Sea Hawk in Grey Harbour.")],
        )
        .await;
        let context_for = async |scope: &Scope, pending: &str| {
            let context = memory.context(scope, &about(pending)).await;
            assert_eq!(context.degraded, []);
            context
        };
        let ship = "Captain Holt returns on the Sea Hawk.";
        assert!(!context_for(&main, ship).await.text.contains("burned"));
        let forked = context_for(&other, ship).await;
        assert!(forked.text.contains("burned") && forked.text.contains("[msg m1 / seq 1]"), "{}", forked.text);
        assert!(!context_for(&other, "金钥匙藏在落霞山的石碑下面。").await.text.contains("金钥匙"), "after the fork");
        let alone = branch("alone");
        engine.history().fork(&alone, Fork::at(2).from_branch("main").alone()).await.unwrap();
        assert_eq!(context_for(&alone, ship).await.text, "");
        let elsewhere = lin().with_session("another").unwrap().with_branch("main").unwrap();
        assert_eq!(context_for(&elsewhere, ship).await.text, "");

        engine.history().rewind(&main, Rewind::To(4)).await.unwrap();
        let love = "Anna Reed loved Captain Holt.";
        let rewound = context_for(&main, love).await;
        assert!(!rewound.text.contains("loved") && !rewound.text.contains("Reed"), "{}", rewound.text);
        let done = memory.index(&main, messages().remove(4), SOON).await;
        assert!(done.complete, "{done:?}");
        assert!(!context_for(&main, love).await.text.contains("loved"), "a rewound message stays deleted");

        for wide in [lin(), lin().with_session("story").unwrap()] {
            let context = memory.context(&wide, &about(ship)).await;
            assert!(context.text.is_empty() && context.degraded[0].reason.contains("a branch"), "{context:?}");
            let done = memory.index(&wide, StoryMessage::timeline("x", 1, "lost"), SOON).await;
            assert!(done.record.is_none() && done.degraded[0].reason.contains("a branch"), "{done:?}");
        }
        let lost = Filter::eq(Field::MessageId, "x");
        assert_eq!(engine.scan(&lin(), &ScanQuery::oldest(9).with_filter(lost)).await.unwrap().records.len(), 0);
    }
}
