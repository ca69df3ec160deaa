//! A stand-in for Supabase on this machine: the two functions of the document behind PostgREST's routes.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use axum::{Json, Router, extract::Path, routing::post};
use memory_engine::{
    embed::Embedder,
    http_models::{HttpClient, PostgrestClient, Secret},
};
use memory_engine_evidence::{EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceSource, SupabaseEvidence};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Starts it with the news, and gives the source that asks it over HTTP.
pub(crate) async fn supabase(http: &HttpClient, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let events = crate::sources::local(embedder, false).await?;
    let call = move |Path(function): Path<String>, Json(asked): Json<Value>| answer(events.clone(), function, asked);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new().route("/rest/v1/rpc/{function}", post(call));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let client = PostgrestClient::supabase(http.clone(), &url, &Secret::new("sb_secret_of_the_stand_in"))?;
    Ok(Arc::new(SupabaseEvidence::new(client)))
}

async fn answer(events: Arc<dyn EvidenceSource>, function: String, asked: Value) -> Json<Value> {
    let mut options = EvidenceOptions::default();
    options.match_threshold = given(&asked, "match_threshold");
    options.min_confidence = given(&asked, "min_confidence");
    options.match_count = given(&asked, "match_count");
    options.window = Duration::from_secs(given::<u64>(&asked, "time_window_hours") * 3600);
    let assets: Vec<String> = given(&asked, "asset_filter");
    let query = EvidenceQuery::new().about_assets(assets);
    let query = match function.as_str() {
        "search_memory_events" => query.with_embedding(given(&asked, "query_embedding")),
        _ => query.with_keywords(given::<Vec<String>>(&asked, "query_keywords")),
    };
    let cascade = EvidenceCascade::new(Arc::clone(&events)).with_database(Some(events)).with_options(options);
    let found = cascade.gather(&query).await;
    Json(json!(found.all().collect::<Vec<_>>()))
}

/// An argument of the call; nothing at all, when it is not there.
fn given<T: DeserializeOwned + Default>(asked: &Value, name: &str) -> T {
    serde_json::from_value(asked[name].clone()).unwrap_or_default()
}
