//! Effects of scenes, synonyms, speakers and age on a recall, and recalls with a deadline.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    MemoryEngine, RecallOptions, RecallQuery, Timestamp, Turn,
    recall::{LexicalReranker, RankingStep, Retriever, Verdict},
    scene::SceneView,
    synonyms::SynonymGroup,
    testing::ManualClock,
};
use tokio::time::Instant;

use crate::given::{Backend, BrokenReranker, FlakyEmbedder, lin};

fn texts(recall: &memory_engine::Recall) -> Vec<&str> {
    recall.hits.iter().map(|hit| hit.record.text.as_str()).collect()
}

async fn with_scenes(backend: &Backend) -> MemoryEngine {
    let memory = backend.builder().background(false).build().await.unwrap();
    for (text, scene) in [
        ("the dragon egg is hidden in the old mill", Some("plot")),
        ("the dragon kite is hidden in the old shed", Some("daily")),
        ("the dragon test of the old server is hidden", Some("meta")),
        ("a dragon plant is hidden behind the old couch", None),
    ] {
        let turn = Turn::user(text);
        memory.remember(&lin(), scene.map_or(turn.clone(), |scene| turn.with_scene(scene))).await.unwrap();
    }
    memory
}

#[tokio::test]
async fn k5_the_scene_of_a_query_weights_and_hides_other_scenes() {
    for backend in Backend::all() {
        let memory = with_scenes(&backend).await;
        let ask = async |scene: &str| {
            memory.recall(&lin(), RecallQuery::new("where is the dragon hidden?").in_scene(scene)).await.unwrap()
        };
        let daily = ask("daily").await;
        assert_eq!(daily.hits.len(), 3, "{:?}", texts(&daily));
        assert_eq!(daily.hits[2].record.scene.as_deref(), Some("plot"), "the plot comes last");
        assert_eq!(daily.hits[2].boosts.iter().map(|b| b.of).collect::<Vec<_>>(), ["scene"]);
        assert_eq!(texts(&ask("plot").await), ["the dragon egg is hidden in the old mill"]);
        assert!(ask("meta").await.hits.is_empty());
        let everywhere = memory.recall(&lin(), "where is the dragon hidden?").await.unwrap();
        assert_eq!(everywhere.hits.len(), 4);
    }
}

#[tokio::test]
async fn neighbours_in_hidden_scenes_are_left_out() {
    for backend in Backend::all() {
        let policy = memory_engine::scene::ScenePolicy::default()
            .with_view("study", SceneView::nothing().with_scene("study", 1.0));
        let memory = backend.builder().scene_policy(policy).background(false).build().await.unwrap();
        let session = lin().with_session("s").unwrap();
        let at = |n: i64| Timestamp::from_micros(1_700_000_000_000_000 + n);
        let turn = Turn::user("which exam is on friday?").with_scene("study").at(at(1));
        memory.remember(&session, turn).await.unwrap();
        let turn = Turn::assistant("the dungeon opens at dawn").with_scene("plot").at(at(2));
        memory.remember(&session, turn).await.unwrap();
        let all = memory.recall(&lin(), "exam on friday").await.unwrap();
        assert_eq!(all.hits.len(), 2, "the neighbour is found");
        let study = memory.recall(&lin(), RecallQuery::new("exam on friday").in_scene("study")).await.unwrap();
        assert_eq!(texts(&study), ["which exam is on friday?"]);
    }
}

#[tokio::test]
async fn k2_a_synonym_finds_its_group_and_the_queried_word_ranks_first() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for text in ["克鲁格胸前有双头鹰", "Sebastian likes black tea", "the weather is fine"] {
            memory.remember(&lin(), text).await.unwrap();
        }
        assert!(memory.recall(&lin(), "Krueger").await.unwrap().hits.is_empty());
        let group = SynonymGroup::new("Krueger", ["Sebastian", "克鲁格"]);
        memory.settings().synonyms().store().put(&lin(), &[group]).await.unwrap();
        memory.settings().synonyms().refresh(&lin()).await.unwrap();
        let found = memory.recall(&lin(), "krueger").await.unwrap();
        assert_eq!(found.hits.len(), 2, "{:?}", texts(&found));
        let found = memory.recall(&lin(), "sebastian").await.unwrap();
        assert_eq!(texts(&found), ["Sebastian likes black tea", "克鲁格胸前有双头鹰"]);
        let mut options = RecallOptions::default();
        options.synonyms = false;
        let without = memory.recall(&lin(), RecallQuery::new("sebastian").with_options(options)).await.unwrap();
        assert_eq!(texts(&without), ["Sebastian likes black tea"]);
    }
}

#[tokio::test]
async fn boosts_change_the_order_and_are_reported() {
    for backend in Backend::all() {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let clock = Arc::new(ManualClock::new(now));
        let memory = backend.builder().clock(clock).background(false).build().await.unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        let old = Timestamp::from_micros(now.as_micros() - 60 * day.as_micros() as i64);
        memory.remember(&lin(), Turn::user("the piano was tuned in spring").at(old)).await.unwrap();
        memory.remember(&lin(), Turn::assistant("the piano was tuned in summer").at(now)).await.unwrap();
        memory
            .remember(&lin(), Turn::user("the piano was tuned in winter").at(now).with_confidence(0.5))
            .await
            .unwrap();
        memory.remember(&lin(), Turn::user("the piano was tuned in autumn").at(now).with_speaker("Ann")).await.unwrap();
        let options = RecallOptions::default().with_half_life(30 * day).with_min_recency_weight(0.2);
        let query = RecallQuery::new("when was the piano tuned?").with_options(options).prefer_speaker("ANN");
        let found = memory.recall(&lin(), query).await.unwrap();
        let seasons: Vec<(&str, Vec<(&str, f64)>)> = found
            .hits
            .iter()
            .map(|hit| (&hit.record.text[23..], hit.boosts.iter().map(|b| (b.of, b.factor)).collect()))
            .collect();
        assert_eq!(
            seasons,
            [
                ("autumn", vec![("speaker", 1.2)]),
                ("winter", vec![("confidence", 0.85)]),
                // A message of the model: the assistant penalty is part of the ranking, not a boost.
                ("summer", vec![]),
                ("spring", vec![("age", 0.2 + 0.8 * 0.25)]),
            ]
        );
    }
}

#[tokio::test]
async fn a_boost_applies_to_candidates_beyond_the_limit() {
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        for n in 0..30 {
            let turn = Turn::user(format!("lantern number {n}: {}", ["oak", "elm", "fir"][n % 3].repeat(n % 7 + 1)));
            memory.remember(&lin(), turn).await.unwrap();
        }
        memory
            .remember(&lin(), Turn::user("a lantern for the winter nights on the long pier").with_speaker("Mei"))
            .await
            .unwrap();
        let options = RecallOptions::default().with_limit(1).with_speaker_boost(10.0);
        let query = RecallQuery::new("lantern number").with_options(options).prefer_speaker("Mei");
        let found = memory.recall(&lin(), query).await.unwrap();
        assert_eq!(texts(&found), ["a lantern for the winter nights on the long pier"]);
    }
}

#[tokio::test(start_paused = true)]
async fn k7_a_hanging_embedder_is_reported_within_its_share_of_the_deadline() {
    let embedder = Arc::new(FlakyEmbedder::default());
    let memory =
        MemoryEngine::builder().in_memory().embedder(embedder.clone()).background(false).build().await.unwrap();
    memory.remember(&lin(), "the spare key hangs in the barn").await.unwrap();
    let _blocked = embedder.block_calls();
    let started = Instant::now();
    let found = memory.recall(&lin(), "where is the spare key?").await.unwrap();
    assert!(started.elapsed() <= Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(found.hits.len(), 1);
    assert!(found.is_partial());
    assert_eq!(found.degraded[0].stage, "vector");
    assert!(found.degraded[0].reason.contains("not ready after 1800 ms"), "{:?}", found.degraded);
}

#[tokio::test(start_paused = true)]
async fn k6_a_hanging_or_failing_reranker_keeps_the_former_order() {
    for reranker in [BrokenReranker::Hanging, BrokenReranker::Failing, BrokenReranker::Miscounting] {
        let builder = MemoryEngine::builder().in_memory().background(false);
        let memory = builder.reranker(Arc::new(reranker)).build().await.unwrap();
        memory.remember(&lin(), "the violin is in the attic").await.unwrap();
        memory.remember(&lin(), "the violin teacher lives near the lake").await.unwrap();
        let started = Instant::now();
        let options = RecallOptions::default().with_deadline(Duration::from_millis(500));
        let query = RecallQuery::new("violin in the attic").with_options(options);
        let found = memory.recall(&lin(), query).await.unwrap();
        assert!(started.elapsed() < Duration::from_millis(500));
        assert_eq!(found.hits[0].record.text, "the violin is in the attic");
        assert_eq!(found.hits[0].found_by[0].retriever, Retriever::Keyword);
        assert_eq!(found.degraded.iter().map(|d| d.stage).collect::<Vec<_>>(), ["rerank"]);
    }
}

#[tokio::test]
async fn explain_gives_a_verdict_for_every_record() {
    for backend in Backend::all() {
        let memory = with_scenes(&backend).await;
        let store = async |turn: Turn| memory.remember(&lin(), turn).await.unwrap();
        let repeated = store(Turn::user("the dragon kite is hidden in the old shed!").with_scene("daily")).await;
        let unrelated = store(Turn::user("tea at five")).await;
        let best = store(Turn::user("hidden dragon, hidden dragon").with_scene("daily")).await;
        let why = async |query: RecallQuery, id| memory.admin().explain(&lin(), query, id).await.unwrap();
        let ask = || RecallQuery::new("hidden dragon").with_limit(2);

        let explained = why(ask(), best).await;
        assert_eq!(explained.verdict, Verdict::Hit { place: 1 });
        assert_eq!(explained.hit.unwrap().found_by[0].retriever, Retriever::Keyword);
        assert!(matches!(why(ask(), repeated).await.verdict, Verdict::Repeats { .. } | Verdict::BelowTheCut { .. }));
        assert_eq!(why(ask(), unrelated).await.verdict, Verdict::NotFound { max_candidates: 200 });
        assert_eq!(why(ask(), memory_engine::RecordId::new()).await.verdict, Verdict::NotThere);
        let kind = memory_engine::Filter::eq(memory_engine::Field::Kind, "note");
        assert_eq!(why(ask().with_filter(kind), best).await.verdict, Verdict::Filtered);
        let sight = why(ask().in_scene("plot"), best).await.verdict;
        assert_eq!(sight, Verdict::OutOfSight { from: "plot".into(), scene: Some("daily".into()) });
        let weak = store(Turn::user("a very long story about a dragon that nobody ever saw, told by the fire")).await;
        assert!(matches!(why(ask(), weak).await.verdict, Verdict::BelowTheCut { place: 3.., limit: 2 }));
    }
}

#[tokio::test]
async fn a_trace_lists_the_rank_of_each_hit_after_each_step() {
    use RankingStep::{Boosted, Fused, Ranked, Reranked, Selected};
    for backend in Backend::all() {
        let memory = with_scenes(&backend).await;
        let ask = || RecallQuery::new("where is the dragon hidden?").in_scene("daily");
        let plain = memory.recall(&lin(), ask()).await.unwrap();
        assert!(plain.hits.iter().all(|hit| hit.ranks.is_empty()));
        let traced = memory.recall(&lin(), ask().with_trace()).await.unwrap();
        assert_eq!(texts(&traced), texts(&plain));
        for (hit, place) in traced.hits.iter().zip(1..) {
            assert_eq!(hit.ranks.iter().map(|rank| rank.step).collect::<Vec<_>>(), [Fused, Ranked, Boosted, Selected]);
            let last = hit.ranks.last().unwrap();
            assert_eq!((last.rank, last.of, last.score), (place, traced.hits.len(), hit.score));
        }
        for step in 0..4 {
            let mut ranks: Vec<_> = traced.hits.iter().map(|hit| (hit.ranks[step].rank, hit.ranks[step].of)).collect();
            ranks.sort_unstable();
            assert_eq!(ranks, [(1, 3), (2, 3), (3, 3)], "step {step}");
        }
        // The scene of the plot counts less: the boost moves its hit down.
        let plot = traced.hits.iter().find(|hit| hit.record.scene.as_deref() == Some("plot")).unwrap();
        assert!(plot.ranks[2].score < plot.ranks[1].score, "{:?}", plot.ranks);
        let explained = memory.admin().explain(&lin(), ask().with_limit(1), plot.record.id).await.unwrap();
        assert_eq!(explained.verdict, Verdict::BelowTheCut { place: 3, limit: 1 });
        assert_eq!(explained.hit.unwrap().ranks.last().unwrap().rank, 3);
    }
    let memory = MemoryEngine::builder().in_memory().reranker(LexicalReranker).build().await.unwrap();
    memory.remember(&lin(), "the violin is in the attic").await.unwrap();
    let reranked = memory.recall(&lin(), RecallQuery::new("violin").with_trace()).await.unwrap();
    assert!(reranked.hits[0].ranks.iter().any(|rank| rank.step == Reranked), "{reranked:?}");
}

#[tokio::test]
async fn dates_in_a_question_rank_records_and_filter_on_request() {
    use jiff::tz::TimeZone;
    for backend in Backend::all() {
        let memory = backend.builder().background(false).build().await.unwrap();
        let at = |text: &str| Timestamp::parse_in(text, &TimeZone::UTC).unwrap();
        let say = async |text: &str, time: &str| memory.remember(&lin(), Turn::user(text).at(at(time))).await.unwrap();
        say("we went swimming in the lake", "2023-03-01T10:00:00").await;
        say("we went swimming in the sea", "2023-05-08T10:00:00").await;
        say("yesterday we went swimming in a pool", "2023-05-20T10:00:00").await;
        say("the meeting was long", "2023-05-08T15:00:00").await;
        let ask = |question: &str| RecallQuery::new(question).asked_at(at("2023-05-21T09:00:00"), TimeZone::UTC);
        let texts = async |query| texts(&memory.recall(&lin(), query).await.unwrap()).join(" | ");

        let found = texts(ask("Where did we go swimming on May 8, 2023?")).await;
        assert!(found.starts_with("we went swimming in the sea"), "{found}");
        let found = texts(ask("Where did we swim on May 19, 2023?")).await;
        assert!(found.starts_with("yesterday we went swimming in a pool"), "the day that the text refers to: {found}");
        let found = memory.recall(&lin(), ask("量子纠缠 2023年5月8日")).await.unwrap();
        assert_eq!((found.hits.len(), found.relevant().count()), (2, 0), "a date alone makes no hit relevant");
        let found = texts(ask("上个月去哪里了？2023年3月1日呢？").only_then()).await;
        assert_eq!(found, "we went swimming in the lake");
        let found = texts(ask("Where did we go swimming in May 2023?").only_then().with_limit(2)).await;
        assert!(!found.contains("lake") && found.contains("sea") && found.contains("pool"), "{found}");
        assert_eq!(memory.recall(&lin(), ask("swimming").only_then()).await.unwrap().hits.len(), 3);
    }
}
