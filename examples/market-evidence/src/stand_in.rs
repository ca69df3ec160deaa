//! A local stand-in for Supabase: the two SQL functions of the document, with the routes of PostgREST.

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

/// Starts the stand-in with the news, and returns a source that calls it over HTTP.
pub(crate) async fn supabase(http: &HttpClient, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let events = crate::sources::local(embedder, false).await?;
    let call = move |Path(function): Path<String>, Json(arguments): Json<Value>| {
        call_function(events.clone(), function, arguments)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new().route("/rest/v1/rpc/{function}", post(call));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let client = PostgrestClient::supabase(http.clone(), &url, &Secret::new("sb_secret_of_the_stand_in"))?;
    Ok(Arc::new(SupabaseEvidence::new(client)))
}

async fn call_function(events: Arc<dyn EvidenceSource>, function: String, arguments: Value) -> Json<Value> {
    let mut options = EvidenceOptions::default();
    options.match_threshold = argument(&arguments, "match_threshold");
    options.min_confidence = argument(&arguments, "min_confidence");
    options.match_count = argument(&arguments, "match_count");
    options.window = Duration::from_secs(argument::<u64>(&arguments, "time_window_hours") * 3600);
    let assets: Vec<String> = argument(&arguments, "asset_filter");
    let query = EvidenceQuery::new().about_assets(assets);
    let query = match function.as_str() {
        "search_memory_events" => query.with_embedding(argument(&arguments, "query_embedding")),
        _ => query.with_keywords(argument::<Vec<String>>(&arguments, "query_keywords")),
    };
    let cascade = EvidenceCascade::new(Arc::clone(&events)).with_database(Some(events)).with_options(options);
    let found = cascade.gather(&query).await;
    Json(json!(found.all().collect::<Vec<_>>()))
}

/// Returns an argument of the call, or its default value if it is missing.
fn argument<T: DeserializeOwned + Default>(arguments: &Value, name: &str) -> T {
    serde_json::from_value(arguments[name].clone()).unwrap_or_default()
}
