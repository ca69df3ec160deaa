//! Acceptance of market-evidence.md (rows E), on each backend. What needs no store is tested in the crates; the two
//! layers, the environment and the log lines (E4, E7, E8) in `examples/market-evidence`; the SQL functions (E6) in
//! `crates/postgres`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each suite needs a part of it")]
#[path = "life/fixtures.rs"]
mod fixtures;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fixtures::{NOON, TestDatabase, lin, trials};
use libtest_mimic::Arguments;
use memory_engine::{Error, ErrorKind, Kind, MemoryEngine, Result, Timestamp, Turn, embed::Purpose};
use memory_engine_evidence::{
    Evidence, EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceRequest, EvidenceSlot, EvidenceSource,
    LocalEvidence, MemoryEvidence, StepOutcome,
};

type Test = (&'static str, TestFn);
type TestFn = fn(TestDatabase) -> futures::future::LocalBoxFuture<'static, ()>;

const ETF: &str = "SEC approves spot Ethereum ETF staking, the decision takes effect on Monday";

/// Text, hours ago, confidence, asset.
type News = (&'static str, u64, f64, &'static str);

const NEWS: [News; 8] = [
    (ETF, 6, 0.93, "ETH"),
    ("以太坊现货 ETF 质押获 SEC 批准", 71, 0.9, "ETH"),
    ("Ethereum ETF staking was discussed a week ago", 100, 0.9, "ETH"),
    ("Forum: Ethereum ETF staking is a done deal", 2, 0.59, "ETH"),
    ("Gold ETF holdings reach a record", 3, 0.9, "XAU"),
    ("央行连续九个月增持黄金", 5, 0.6, "XAU"),
    ("原油库存降幅超预期", 8, 0.8, "WTI"),
    ("Tanker attacked near the strait, crude oil jumps", 4, 0.88, "WTI"),
];

/// An engine with these news in it, vectors and all.
async fn filled(memory: MemoryEngine, news: &[News]) -> MemoryEngine {
    for (text, hours, confidence, asset) in news {
        let at = Timestamp::from_micros(NOON).before(Duration::from_secs(hours * 3600));
        let turn = Turn::note(*text).with_kind(Kind::EVENT).at(at).with_confidence(*confidence).with_tags([*asset]);
        memory.remember(&lin(), turn).await.unwrap();
    }
    memory.drain(&lin(), |_| ()).await.unwrap();
    memory
}

fn source(memory: &MemoryEngine) -> Arc<dyn EvidenceSource> {
    Arc::new(LocalEvidence::new(memory.clone(), lin()))
}

/// Returns a cascade over this database. Its local memory contains the desk's own note.
async fn cascade(test_db: &TestDatabase) -> (EvidenceCascade, MemoryEngine) {
    let database = filled(test_db.open().await, &NEWS).await;
    let local =
        MemoryEngine::builder().in_memory().clock(test_db.clock.clone()).background(false).build().await.unwrap();
    let local = filled(local, &[("Desk note: Solana outages end in a drift lower", 9, 0.8, "SOL")]).await;
    (EvidenceCascade::new(source(&local)).with_database(Some(source(&database))), database)
}

async fn vector(memory: &MemoryEngine, text: &str) -> Vec<f32> {
    memory.settings().embedder().embed(&[text], Purpose::Query).await.unwrap()[0].values().to_vec()
}

fn texts(slot: Option<&Vec<Evidence>>) -> Vec<&str> {
    slot.into_iter().flatten().map(|piece| piece.content_text.as_deref().unwrap()).collect()
}

fn hits(evidence: &MemoryEvidence) -> Vec<EvidenceSlot> {
    let hits = evidence.steps.iter().filter(|step| matches!(step.outcome, StepOutcome::Hits(_)));
    hits.map(|step| step.slot).collect()
}

async fn e1_evidence_slots_in_fixed_order(test_db: TestDatabase) {
    let (cascade, memory) = cascade(&test_db).await;
    let near = vector(&memory, "SEC approves spot Ethereum ETF staking; the decision takes effect on Monday").await;
    let query = EvidenceQuery::new().with_embedding(near).with_keywords(["ethereum", "staking"]).about_assets(["ETH"]);
    let evidence = cascade.gather(&query).await;
    assert_eq!(hits(&evidence), [EvidenceSlot::SupabaseVector]);
    assert_eq!(texts(evidence.supabase_vector.as_ref()), [ETF]);
    assert!(evidence.supabase_vector.as_ref().unwrap()[0].match_score >= 0.85);

    let far = vector(&memory, "油轮遇袭").await;
    let query = EvidenceQuery::new().with_embedding(far).with_keywords(["tanker", "crude oil"]).about_assets(["WTI"]);
    let evidence = cascade.gather(&query).await;
    assert_eq!(hits(&evidence), [EvidenceSlot::SupabaseKeyword]);
    assert_eq!(texts(evidence.supabase_keyword.as_ref()), ["Tanker attacked near the strait, crude oil jumps"]);
    assert!((evidence.supabase_keyword.as_ref().unwrap()[0].match_score - 1.0).abs() < 1e-9, "both keywords of two");

    let evidence = cascade.gather(&EvidenceQuery::new().with_keywords(["Solana"]).about_assets(["SOL"])).await;
    assert_eq!(hits(&evidence), [EvidenceSlot::LocalKeyword]);
    let json = serde_json::to_value(&evidence).unwrap();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["local_keyword"], "an empty slot is not there");
}

async fn e2_window_confidence_threshold_and_count(test_db: TestDatabase) {
    let (cascade, memory) = cascade(&test_db).await;
    let of_ether = EvidenceQuery::new().with_keywords(["ethereum", "以太坊", "etf", "staking", "质押"]);
    let evidence = cascade.gather(&of_ether.clone().about_assets(["ETH"])).await;
    let found = texts(evidence.supabase_keyword.as_ref());
    assert_eq!(found, [ETF, NEWS[1].0], "not 100 hours old, and not of confidence 0.59");
    let evidence = cascade.gather(&EvidenceQuery::new().with_keywords(["黄金"]).about_assets(["XAU"])).await;
    assert_eq!(texts(evidence.supabase_keyword.as_ref()), [NEWS[5].0], "0.6 is enough, in Chinese, too");
    let evidence = cascade.gather(&of_ether).await;
    assert_eq!(texts(evidence.supabase_keyword.as_ref()).len(), 3, "without assets, gold's ETF as well");
    let mut options = EvidenceOptions::default();
    (options.match_count, options.match_threshold) = (1, 0.2);
    let near = vector(&memory, ETF).await;
    let one = cascade.with_options(options).gather(&EvidenceQuery::new().with_embedding(near)).await;
    assert_eq!(texts(one.supabase_vector.as_ref()), [ETF]);
}

/// A database that is down.
#[derive(Debug)]
struct Down;

#[async_trait]
impl EvidenceSource for Down {
    async fn by_vector(&self, _: &[f32], _: &EvidenceRequest) -> Result<Vec<Evidence>> {
        Err(Error::new(ErrorKind::Unavailable, "postgrest", "the service answers 503"))
    }
    async fn by_keywords(&self, _: &[String], _: &EvidenceRequest) -> Result<Vec<Evidence>> {
        Err(Error::new(ErrorKind::Unauthorized, "postgrest", "the key is refused"))
    }
}

async fn e3_unavailable_database_leaves_local_memory(test_db: TestDatabase) {
    let local = filled(test_db.open().await, &NEWS).await;
    let cascade = EvidenceCascade::new(source(&local)).with_database(Some(Arc::new(Down)));
    let near = vector(&local, ETF).await;
    let query = EvidenceQuery::new().with_embedding(near).with_keywords(["原油"]).about_assets(["WTI"]);
    let evidence = cascade.gather(&query).await;
    assert_eq!(texts(evidence.local_keyword.as_ref()), [NEWS[6].0]);
    let why: Vec<String> = evidence
        .steps
        .iter()
        .filter_map(|step| match &step.outcome {
            StepOutcome::Failed(reason) => Some(reason.clone()),
            StepOutcome::Hits(_) | StepOutcome::Empty | StepOutcome::Skipped(_) => None,
        })
        .collect();
    assert!(why.len() == 2 && why[0].contains("503") && why[1].contains("refused"), "{why:?}");
}

async fn e9_aggregation_threshold_is_separate(test_db: TestDatabase) {
    let (cascade, memory) = cascade(&test_db).await;
    let near = vector(&memory, "Ethereum ETF staking was discussed").await;
    let query = EvidenceQuery::new().with_embedding(near).about_assets(["ETH"]);
    assert_eq!(hits(&cascade.gather(&query).await), []);
    let options = EvidenceOptions::aggregation();
    assert_eq!((options.match_threshold, options.window), (0.40, Duration::from_secs(168 * 3600)));
    let evidence = cascade.with_options(options).gather(&query).await;
    let found = texts(evidence.supabase_vector.as_ref());
    assert_eq!(found[0], "Ethereum ETF staking was discussed a week ago", "{found:?}");
}

macro_rules! tests {
    ($($name:ident,)*) => { vec![$((stringify!($name), (|test_db| Box::pin($name(test_db))) as TestFn)),*] };
}

fn main() {
    let tests: Vec<Test> = tests! {
        e1_evidence_slots_in_fixed_order,
        e2_window_confidence_threshold_and_count,
        e3_unavailable_database_leaves_local_memory,
        e9_aggregation_threshold_is_separate,
    };
    libtest_mimic::run(&Arguments::from_args(), trials(&tests)).exit();
}
