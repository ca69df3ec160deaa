//! Tests of the cascade with working and failing sources.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

#[path = "../../memory-engine/tests/integration/given/mod.rs"]
mod given;

use std::{sync::Arc, sync::Mutex, time::Duration};

use async_trait::async_trait;
use given::{Backend, lin};
use memory_engine::{Error, ErrorKind, Kind, MemoryEngine, Result, Timestamp, Turn, testing::ManualClock};
use memory_engine_evidence::{
    EventId, Evidence, EvidenceCascade, EvidenceMode, EvidenceOptions, EvidenceQuery, EvidenceRequest, EvidenceSlot,
    EvidenceSource, LocalEvidence, MemoryEvidence, SlotStatistics, StepOutcome,
};

/// A database with configured results. It records its requests.
#[derive(Debug, Default)]
struct FakeDatabase {
    vector: SourceResult,
    keyword: SourceResult,
    requests: Mutex<Vec<(&'static str, EvidenceRequest)>>,
}

#[derive(Debug, Clone, Copy, Default)]
enum SourceResult {
    #[default]
    Nothing,
    Something,
    Failure,
    Timeout,
}

impl SourceResult {
    async fn evidence(self, id: i64) -> Result<Vec<Evidence>> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Something => Ok(vec![
                serde_json::from_value(serde_json::json!({
                    "news_event_id": id, "created_at": "2026-02-18T08:00:00Z", "content_text": "ETF approved",
                    "translated_text": null, "similarity": 0.91,
                }))
                .unwrap(),
            ]),
            Self::Failure => Err(Error::new(ErrorKind::Unavailable, "postgrest", "the service answers 503")),
            Self::Timeout => std::future::pending().await,
        }
    }
}

#[async_trait]
impl EvidenceSource for FakeDatabase {
    async fn by_vector(&self, _: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        self.requests.lock().unwrap().push(("vector", request.clone()));
        self.vector.evidence(1).await
    }
    async fn by_keywords(&self, _: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        self.requests.lock().unwrap().push(("keyword", request.clone()));
        self.keyword.evidence(2).await
    }
}

const NOW: i64 = 1_771_400_000_000_000;
const HOUR: i64 = 3_600_000_000;

async fn local(backend: &Backend) -> MemoryEngine {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
    let memory = backend.builder().clock(clock).background(false).build().await.unwrap();
    for (text, hours, confidence, asset) in [
        ("SEC approves a spot bitcoin ETF, inflows surge", 5, 0.9, "BTC"),
        ("bitcoin miners sell; ETF outflows", 50, 0.7, "BTC"),
        ("bitcoin ETF rumours on a forum", 2, 0.3, "BTC"),
        ("gold ETF hits a record", 1, 0.9, "GOLD"),
        ("bitcoin ETF filing from last month", 700, 0.9, "BTC"),
        ("央行降准，债券上涨", 3, 0.8, "CN10Y"),
    ] {
        let turn = Turn::note(text).with_kind(Kind::EVENT).with_confidence(confidence).with_tags([asset]);
        memory.remember(&lin(), turn.at(Timestamp::from_micros(NOW - hours * HOUR))).await.unwrap();
    }
    memory
}

fn query() -> EvidenceQuery {
    EvidenceQuery::new().with_embedding(vec![0.1; 1536]).with_keywords(["Bitcoin", "ETF"]).about_assets(["BTC"])
}

async fn gather(database: FakeDatabase, options: EvidenceOptions) -> (MemoryEvidence, Arc<FakeDatabase>) {
    let memory = local(&Backend::all()[0]).await;
    let database = Arc::new(database);
    let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, lin())))
        .with_database(Some(database.clone()))
        .with_options(options);
    (cascade.gather(&query()).await, database)
}

fn filled_slots(evidence: &MemoryEvidence) -> Vec<EvidenceSlot> {
    let hits = evidence.steps.iter().filter(|step| matches!(step.outcome, StepOutcome::Hits(_)));
    hits.map(|step| step.slot).collect()
}

#[tokio::test]
async fn e1_e2_the_database_s_vectors_come_first_then_its_keywords_then_the_local_memory() {
    use SourceResult::{Nothing, Something};
    let options = EvidenceOptions::default;
    let (evidence, _) =
        gather(FakeDatabase { vector: Something, keyword: Something, ..FakeDatabase::default() }, options()).await;
    assert_eq!(filled_slots(&evidence), [EvidenceSlot::SupabaseVector]);
    let (evidence, database) =
        gather(FakeDatabase { vector: Nothing, keyword: Something, ..FakeDatabase::default() }, options()).await;
    assert_eq!(filled_slots(&evidence), [EvidenceSlot::SupabaseKeyword]);
    assert_eq!(evidence.supabase_keyword.as_ref().unwrap()[0].news_event_id, Some(EventId::Number(2)));
    let requests = database.requests.lock().unwrap().clone();
    let [("vector", first), ("keyword", second)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(first, second);
    assert_eq!((first.match_threshold, first.min_confidence, first.match_count), (0.85, 0.6, 5));
    assert_eq!(
        (first.window, first.assets.as_slice()),
        (Duration::from_secs(72 * 3600), ["BTC".to_owned()].as_slice())
    );
    let (evidence, _) = gather(FakeDatabase::default(), options()).await;
    assert_eq!(filled_slots(&evidence), [EvidenceSlot::LocalKeyword]);

    let mut always = options();
    always.always_local = true;
    let (evidence, _) = gather(FakeDatabase { vector: Something, ..FakeDatabase::default() }, always).await;
    assert_eq!(filled_slots(&evidence), [EvidenceSlot::SupabaseVector, EvidenceSlot::LocalKeyword]);
    let json = serde_json::to_value(&evidence).unwrap();
    assert_eq!(json.as_object().unwrap().len(), 2);
    // The order is checked in the text, because the order of a map depends on a feature of `serde_json`.
    let text = serde_json::to_string(&evidence).unwrap();
    let position = |key: &str| text.find(&format!("\"{key}\":")).unwrap();
    assert!(position("supabase_vector") < position("local_keyword"), "{text}");
    assert_eq!(json["supabase_vector"][0]["match_score"], 0.91);
}

#[tokio::test(start_paused = true)]
async fn e3_a_database_that_fails_or_is_silent_leaves_its_slot_empty_and_says_why() {
    for broken in [SourceResult::Failure, SourceResult::Timeout] {
        let database = FakeDatabase { vector: broken, keyword: broken, ..FakeDatabase::default() };
        let (evidence, _) = gather(database, EvidenceOptions::default()).await;
        assert_eq!(filled_slots(&evidence), [EvidenceSlot::LocalKeyword]);
        let failed: Vec<String> = evidence
            .steps
            .iter()
            .filter_map(|step| match &step.outcome {
                StepOutcome::Failed(reason) => Some(reason.clone()),
                StepOutcome::Hits(_) | StepOutcome::Empty | StepOutcome::Skipped(_) => None,
            })
            .collect();
        assert_eq!(failed.len(), 2);
        assert!(failed.iter().all(|f| f.contains("503") || f.contains("not ready after 3000 ms")), "{failed:?}");
    }
}

#[tokio::test]
async fn e7_searches_and_hits_are_counted_for_each_slot() {
    use SourceResult::{Failure, Nothing, Something};
    let memory = local(&Backend::all()[0]).await;
    let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, lin())));
    let mut before = cascade.statistics();
    assert_eq!((before.supabase_vector.searches(), before.supabase_vector.hit_rate()), (0, None));
    let mut after = before;
    for (vector, keyword) in [(Something, Nothing), (Something, Nothing), (Nothing, Something), (Failure, Nothing)] {
        let database = Arc::new(FakeDatabase { vector, keyword, ..FakeDatabase::default() });
        // A clone counts together with the cascade that it was cloned from.
        let _ = cascade.clone().with_database(Some(database)).gather(&query()).await;
        (before, after) = (after, cascade.statistics());
        assert_eq!(after.supabase_vector.searches(), before.supabase_vector.searches() + 1);
    }
    let counts = |slot: SlotStatistics| (slot.hits, slot.empty, slot.failed, slot.skipped);
    assert_eq!(counts(after.supabase_vector), (2, 1, 1, 0));
    assert_eq!(counts(after.supabase_keyword), (1, 1, 0, 2));
    assert_eq!(counts(after.local_keyword), (1, 0, 0, 3));
    assert_eq!((after.supabase_vector.hit_rate(), after.local_keyword.hit_rate()), (Some(0.5), Some(1.0)));
}

#[tokio::test]
async fn e8_one_common_keyword_is_weak_evidence() {
    let memory = local(&Backend::all()[0]).await;
    let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, lin())));
    let gather = async |keywords: &[&str]| cascade.gather(&EvidenceQuery::new().with_keywords(keywords)).await;
    let one = gather(&["gold"]).await;
    assert_eq!(one.local_keyword.as_ref().unwrap()[0].match_score, 1.0);
    assert_eq!(one.strength(), 0.5);
    assert!((gather(&["gold", "record"]).await.strength() - 2.0 / 3.0).abs() < 1e-9);
    assert!((gather(&["gold", "strike", "mine"]).await.strength() - 0.25).abs() < 1e-9);
    assert_eq!(gather(&["platinum"]).await.strength(), 0.0);
    let similar = FakeDatabase { vector: SourceResult::Something, ..FakeDatabase::default() };
    let (evidence, _) = gather_default(similar).await;
    assert_eq!(evidence.strength(), 0.91, "the similarity of a vector hit");
}

async fn gather_default(database: FakeDatabase) -> (MemoryEvidence, Arc<FakeDatabase>) {
    gather(database, EvidenceOptions::default()).await
}

#[tokio::test]
async fn e4_in_local_mode_or_without_a_database_only_the_local_memory_is_asked() {
    let mut options = EvidenceOptions::default();
    options.mode = EvidenceMode::Local;
    let (evidence, database) =
        gather(FakeDatabase { vector: SourceResult::Something, ..FakeDatabase::default() }, options).await;
    assert_eq!(filled_slots(&evidence), [EvidenceSlot::LocalKeyword]);
    assert!(database.requests.lock().unwrap().is_empty());
    assert_eq!(evidence.steps[0].outcome, StepOutcome::Skipped("the mode is local"));

    let memory = local(&Backend::all()[0]).await;
    let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, lin())));
    let evidence = cascade.gather(&query()).await;
    assert_eq!(evidence.steps[0].outcome, StepOutcome::Skipped("no database is configured"));
    let nothing = cascade.gather(&EvidenceQuery::new()).await;
    assert!(nothing.is_empty());
    assert!(nothing.steps.iter().all(|step| matches!(step.outcome, StepOutcome::Skipped(_))));
}

#[tokio::test]
async fn local_evidence_is_filtered_and_ordered_by_keywords_and_time() {
    for backend in Backend::all() {
        let memory = local(&backend).await;
        let cascade = EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, lin())));
        let found = cascade.gather(&query()).await.local_keyword.unwrap();
        let texts: Vec<&str> = found.iter().map(|e| e.content_text.as_deref().unwrap()).collect();
        assert_eq!(texts, ["SEC approves a spot bitcoin ETF, inflows surge", "bitcoin miners sell; ETF outflows"]);
        assert!(found.iter().all(|e| e.match_score == 1.0));
        let separate_words = EvidenceQuery::new().with_keywords(["forum inflows", "today"]);
        assert!(cascade.gather(&separate_words).await.local_keyword.is_none(), "all words of a keyword must match");
        let chinese = EvidenceQuery::new().with_keywords(["降准"]);
        assert_eq!(cascade.gather(&chinese).await.local_keyword.unwrap().len(), 1);
        let wide = cascade.clone().with_options(EvidenceOptions::aggregation());
        let found = wide.gather(&EvidenceQuery::new().with_keywords(["etf", "gold"])).await.local_keyword.unwrap();
        let scores: Vec<f64> = found.iter().map(|e| e.match_score).collect();
        assert_eq!(scores, [1.0, 0.5, 0.5], "gold first, then the newer one");
    }
}

#[test]
fn e5_keywords_are_trimmed_lowered_told_apart_and_five() {
    let query = EvidenceQuery::new().with_keywords([" ETF", "etf", "", "BTC", "降准", "SEC", "Fed", "CPI"]);
    assert_eq!(query.keywords(), ["etf", "btc", "降准", "sec", "fed"]);
}
