//! Tests of the source over HTTP, with a server that answers as PostgREST.
#![cfg(feature = "supabase")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::{sync::Arc, time::Duration};

use memory_engine::{MemoryEngine, Scope};
use memory_engine_evidence::{
    EventId, EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceSlot, LocalEvidence, MemoryEvidence, StepOutcome,
    SupabaseEvidence,
};
use memory_engine_http_models::{HttpClient, HttpOptions, PostgrestClient, Secret};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

async fn answer(server: &MockServer, verb: &str, route: &str, response: ResponseTemplate) {
    Mock::given(method(verb)).and(path(route)).respond_with(response).mount(server).await;
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// The answer of PostgREST for a function or table that does not exist.
fn missing(code: &str) -> ResponseTemplate {
    ResponseTemplate::new(404).set_body_json(json!({"code": code, "message": "not in the schema cache"}))
}

async fn gather(server: &MockServer, query: &EvidenceQuery, options: EvidenceOptions) -> MemoryEvidence {
    let http = HttpClient::new(HttpOptions::default().with_system_proxy(false)).unwrap();
    let client = PostgrestClient::supabase(http, &server.uri(), &Secret::new("sb_secret_x")).unwrap();
    let memory = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
    EvidenceCascade::new(Arc::new(LocalEvidence::new(memory, Scope::user("desk").unwrap())))
        .with_database(Some(Arc::new(SupabaseEvidence::new(client))))
        .with_options(options)
        .gather(query)
        .await
}

fn ids(evidence: &MemoryEvidence) -> Vec<(i64, f64)> {
    let id = |id: &Option<EventId>| match id {
        Some(EventId::Number(number)) => *number,
        other => panic!("{other:?}"),
    };
    evidence.supabase_keyword.iter().flatten().map(|piece| (id(&piece.news_event_id), piece.match_score)).collect()
}

fn news(id: i64, text: &str, translation: Option<&str>) -> Value {
    let created_at = format!("2026-02-18T{id:02}:00:00+00:00");
    json!({"id": id, "created_at": created_at, "content_text": text, "translated_text": translation})
}

#[tokio::test]
async fn e6_both_functions_are_called_with_the_arguments_of_the_document() {
    let server = MockServer::start().await;
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events", ok(json!([]))).await;
    let row = json!({"news_event_id": 42, "created_at": "2026-02-18T08:00:00+00:00", "content_text": "x",
        "translated_text": null, "match_score": 0.5});
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events_keywords", ok(json!([row]))).await;
    let query = EvidenceQuery::new().with_embedding(vec![0.5, 0.25]).with_keywords(["ETF"]).about_assets(["BTC"]);
    let evidence = gather(&server, &query, EvidenceOptions::default()).await;
    assert_eq!(ids(&evidence), [(42, 0.5)]);
    let requests = server.received_requests().await.unwrap();
    let bodies: Vec<Value> = requests.iter().map(|request| request.body_json().unwrap()).collect();
    assert_eq!(
        bodies,
        [
            json!({"query_embedding": [0.5, 0.25], "match_threshold": 0.85, "match_count": 5, "asset_filter": ["BTC"],
                "min_confidence": 0.6, "time_window_hours": 72}),
            json!({"query_keywords": ["etf"], "time_window_hours": 72, "match_count": 5, "min_confidence": 0.6,
                "asset_filter": ["BTC"]}),
        ]
    );
}

#[tokio::test]
async fn e6_without_the_function_the_newest_rows_are_read_and_filtered() {
    let server = MockServer::start().await;
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events", missing("PGRST202")).await;
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events_keywords", missing("PGRST202")).await;
    let rows = json!([
        news(9, "以太坊升级", Some("Ethereum upgrade before the ETF")),
        news(8, "SEC approves the bitcoin ETF", None),
        news(7, "Fed keeps rates", None),
        news(6, "A rumour about an ETF", None),
        news(5, "Gold ETF flows", None),
        news(4, "An ETF nobody rated", None),
    ]);
    answer(&server, "GET", "/rest/v1/news_events", ok(rows)).await;
    let signals = json!([
        {"news_event_id": 9, "assets": "ETH, BTC", "confidence": 0.8},
        {"news_event_id": 8, "assets": "BTC", "confidence": 0.9},
        {"news_event_id": 6, "assets": "BTC", "confidence": 0.3},
        {"news_event_id": 5, "assets": "XAU", "confidence": null},
    ]);
    answer(&server, "GET", "/rest/v1/ai_signals", ok(signals)).await;
    let query = EvidenceQuery::new().with_embedding(vec![0.5]).with_keywords(["etf", "SEC"]);
    let of_bitcoin = gather(&server, &query.clone().about_assets(["BTC"]), EvidenceOptions::default()).await;
    assert_eq!(ids(&of_bitcoin), [(8, 1.0), (9, 0.5)], "by the number of keywords, with asset and confidence");
    assert!(matches!(of_bitcoin.steps[0].outcome, StepOutcome::Failed(_)), "{:?}", of_bitcoin.steps);
    let requests = server.received_requests().await.unwrap();
    let select = requests.iter().find(|request| request.url.path().ends_with("/news_events")).unwrap();
    let parameters: Vec<(String, String)> = select.url.query_pairs().into_owned().collect();
    let value = |name: &str| parameters.iter().find(|(key, _)| key == name).unwrap().1.as_str();
    assert_eq!((value("limit"), value("order")), ("15", "created_at.desc"), "three times the number of hits");
    let since: memory_engine::Timestamp = value("created_at").strip_prefix("gte.").unwrap().parse().unwrap();
    let age = memory_engine::Clock::now(&memory_engine::SystemClock).since(since);
    assert!(age >= Duration::from_secs(72 * 3600) && age < Duration::from_secs(72 * 3600 + 60), "{age:?}");

    let of_any = gather(&server, &query, EvidenceOptions::default()).await;
    assert_eq!(ids(&of_any), [(8, 1.0), (9, 0.5), (5, 0.5), (4, 0.5)], "unknown confidence is accepted");
    let mut options = EvidenceOptions::default();
    options.match_count = 2;
    assert_eq!(ids(&gather(&server, &query, options).await), [(8, 1.0), (9, 0.5)]);
}

#[tokio::test]
async fn e3_e6_a_project_without_tables_leaves_the_slot_empty() {
    let server = MockServer::start().await;
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events_keywords", missing("PGRST202")).await;
    answer(&server, "GET", "/rest/v1/news_events", missing("PGRST205")).await;
    let query = EvidenceQuery::new().with_keywords(["etf"]);
    let evidence = gather(&server, &query, EvidenceOptions::default()).await;
    let step = evidence.steps.iter().find(|step| step.slot == EvidenceSlot::SupabaseKeyword).unwrap();
    let StepOutcome::Failed(reason) = &step.outcome else { panic!("{step:?}") };
    assert!(reason.contains("PGRST205") && !reason.contains("sb_secret"), "{reason}");

    // Without signals, only a query without assets has hits.
    server.reset().await;
    answer(&server, "POST", "/rest/v1/rpc/search_memory_events_keywords", missing("PGRST202")).await;
    answer(&server, "GET", "/rest/v1/news_events", ok(json!([news(3, "an etf", None)]))).await;
    answer(&server, "GET", "/rest/v1/ai_signals", missing("PGRST205")).await;
    assert_eq!(ids(&gather(&server, &query, EvidenceOptions::default()).await), [(3, 1.0)]);
    let of_bitcoin = gather(&server, &query.about_assets(["BTC"]), EvidenceOptions::default()).await;
    assert!(of_bitcoin.is_empty());
}
