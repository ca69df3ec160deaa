//! A stand-in for Supabase on this machine: the two functions of the document behind PostgREST's routes.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use axum::{Json, Router, extract::Path, routing::post};
use memory_engine::{
    Embedder, MemoryEngine,
    evidence::{EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceSource, LocalEvidence, SupabaseEvidence},
    http_models::{HttpClient, PostgrestClient, Secret},
};
use serde_json::{Value, json};

use crate::sources::{self, News};

/// Starts it with the news, and gives the source that asks it over HTTP.
pub(crate) async fn supabase(
    http: &HttpClient,
    embedder: &Arc<dyn Embedder>,
    news: &[News],
) -> Result<Arc<dyn EvidenceSource>> {
    let engine = sources::filled(MemoryEngine::builder().in_memory(), embedder, news, false).await?;
    let events: Arc<dyn EvidenceSource> = Arc::new(LocalEvidence::new(engine, sources::scope()?));
    let call = move |Path(function): Path<String>, Json(asked): Json<Value>| answer(events.clone(), function, asked);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new().route("/rest/v1/rpc/{function}", post(call));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let client = PostgrestClient::supabase(http.clone(), &url, &Secret::new("sb_secret_of_the_stand_in"))?;
    Ok(Arc::new(SupabaseEvidence::new(client)))
}

async fn answer(events: Arc<dyn EvidenceSource>, function: String, asked: Value) -> Json<Value> {
    let list = |name: &str| asked[name].as_array().cloned().unwrap_or_default();
    let texts = |name: &str| list(name).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>();
    let mut options = EvidenceOptions::default();
    options.match_threshold = asked["match_threshold"].as_f64().unwrap_or(options.match_threshold);
    options.min_confidence = asked["min_confidence"].as_f64().unwrap_or(options.min_confidence);
    options.match_count = asked["match_count"].as_u64().map_or(options.match_count, |count| count as usize);
    let hours = asked["time_window_hours"].as_u64();
    options.window = hours.map_or(options.window, |hours| Duration::from_secs(hours * 3600));
    let mut query = EvidenceQuery::new().about_assets(texts("asset_filter")).with_keywords(texts("query_keywords"));
    if function == "search_memory_events" {
        query =
            query.with_embedding(list("query_embedding").iter().filter_map(Value::as_f64).map(|n| n as f32).collect());
    }
    let cascade = EvidenceCascade::new(Arc::clone(&events)).with_database(Some(events)).with_options(options);
    let found = cascade.gather(&query).await;
    Json(json!(found.all().collect::<Vec<_>>()))
}
