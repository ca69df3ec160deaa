//! A local stand-in for Supabase: the two SQL functions of the document over `data/news.jsonl`, with the routes and
//! errors of PostgREST. It is written from the document and shares no code with the program, so that a test of both
//! shows a disagreement.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use memory_engine::{
    Clock, SystemClock,
    embed::{Embedder, Purpose},
    http_models::{HttpClient, PostgrestClient, Secret},
};
use memory_engine_evidence::{EvidenceSource, SupabaseEvidence};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::sources::{News, news};

/// Number of texts that are embedded at once.
const BATCH: usize = 64;

/// A row of the table of events.
struct Row {
    news: News,
    created_at: String,
    embedding: Vec<f32>,
}

/// The parameters of `search_memory_events`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorSearch {
    query_embedding: Vec<f32>,
    match_threshold: f64,
    match_count: usize,
    asset_filter: Option<Vec<String>>,
    min_confidence: f64,
    time_window_hours: u64,
}

/// The parameters of `search_memory_events_keywords`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeywordSearch {
    query_keywords: Vec<String>,
    time_window_hours: u64,
    match_count: usize,
    min_confidence: f64,
    asset_filter: Option<Vec<String>>,
}

/// Starts the stand-in with the news, and returns a source that calls it over HTTP.
pub(crate) async fn supabase(http: &HttpClient, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let rows = Arc::new(rows(&**embedder).await?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new().route("/rest/v1/rpc/{function}", post(call_function)).with_state(rows);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let client = PostgrestClient::supabase(http.clone(), &url, &Secret::new("sb_secret_of_the_stand_in"))?;
    Ok(Arc::new(SupabaseEvidence::new(client)))
}

/// Returns the news of the database, without the notes of the desk.
async fn rows(embedder: &dyn Embedder) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let news: Vec<News> = news()?.into_iter().filter(|item| !item.desk).collect();
    for batch in news.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|item| item.text.as_str()).collect();
        let embeddings = embedder.embed(&texts, Purpose::Document).await?;
        for (item, embedding) in batch.iter().zip(embeddings) {
            let created_at = SystemClock.now().before(Duration::from_secs(item.hours_ago * 3600)).to_string();
            rows.push(Row { news: item.clone(), created_at, embedding: embedding.values().to_vec() });
        }
    }
    Ok(rows)
}

async fn call_function(
    State(rows): State<Arc<Vec<Row>>>,
    Path(function): Path<String>,
    Json(arguments): Json<Value>,
) -> Response {
    let found = match function.as_str() {
        "search_memory_events" => {
            serde_json::from_value(arguments).map(|search| Some(search_by_vector(&rows, &search)))
        }
        "search_memory_events_keywords" => {
            serde_json::from_value(arguments).map(|search| Some(search_by_keywords(&rows, &search)))
        }
        _ => Ok(None),
    };
    let no_such_function = json!({ "code": "PGRST202", "message": "no function with this name and these arguments" });
    match found {
        Ok(Some(found)) => Json(found).into_response(),
        Ok(None) | Err(_) => (StatusCode::NOT_FOUND, Json(no_such_function)).into_response(),
    }
}

fn search_by_vector(rows: &[Row], search: &VectorSearch) -> Vec<Value> {
    let similar = rows
        .iter()
        .filter(|row| row.is_within(search.time_window_hours, search.min_confidence, search.asset_filter.as_deref()))
        .map(|row| (cosine(&row.embedding, &search.query_embedding), row))
        .filter(|(similarity, _)| *similarity >= search.match_threshold)
        .collect();
    best_first(similar, search.match_count, "similarity")
}

fn search_by_keywords(rows: &[Row], search: &KeywordSearch) -> Vec<Value> {
    let count = search.query_keywords.len().max(1) as f64;
    let matching = rows
        .iter()
        .filter(|row| row.is_within(search.time_window_hours, search.min_confidence, search.asset_filter.as_deref()))
        .map(|row| {
            let text = row.news.text.to_lowercase();
            let matches = search.query_keywords.iter().filter(|keyword| text.contains(&keyword.to_lowercase())).count();
            (matches as f64 / count, row)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    best_first(matching, search.match_count, "match_score")
}

impl Row {
    fn is_within(&self, hours: u64, min_confidence: f64, assets: Option<&[String]>) -> bool {
        self.news.hours_ago < hours
            && self.news.confidence >= min_confidence
            && assets.is_none_or(|assets| self.news.assets.iter().any(|asset| assets.contains(asset)))
    }
}

/// Returns the rows with the highest scores, newest first among equals, as the functions return them.
fn best_first(mut rows: Vec<(f64, &Row)>, count: usize, score_column: &str) -> Vec<Value> {
    rows.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.news.hours_ago.cmp(&y.news.hours_ago)));
    rows.truncate(count);
    let row = |(score, row): (f64, &Row)| {
        json!({ "news_event_id": row.news.id, "created_at": row.created_at, "content_text": row.news.text,
            "translated_text": null, score_column: score })
    };
    rows.into_iter().map(row).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    if a.len() == b.len() { dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() } else { -1.0 }
}
