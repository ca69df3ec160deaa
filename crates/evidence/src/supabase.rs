//! A Supabase project as a source of evidence, through the SQL functions of its database.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Clock, ErrorKind, Result, SystemClock};
use memory_engine_http_models::{FilterOperator, HttpClient, PostgrestClient, Select};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    evidence::{EventId, Evidence},
    query::EvidenceRequest,
    source::EvidenceSource,
    unavailable::UnavailableEvidence,
};

/// Factor of rows read from the table of events. The client keeps those that match.
const OVERFETCH_FACTOR: usize = 3;
/// Maximum number of ids in the URL of one request.
const MAX_IDS_PER_REQUEST: usize = 100;
/// The table of events, and the table of their assets and confidence.
const EVENTS: &str = "news_events";
const SIGNALS: &str = "ai_signals";

/// The functions `search_memory_events` and `search_memory_events_keywords`, called through PostgREST.
///
/// If the project does not have the second function, the newest rows of the table `news_events` are read instead and
/// filtered here, with the assets and the confidence of the table `ai_signals`.
#[derive(Debug, Clone)]
pub struct SupabaseEvidence {
    client: PostgrestClient,
}

impl SupabaseEvidence {
    /// Creates a source with this client.
    pub fn new(client: PostgrestClient) -> Self {
        Self { client }
    }

    /// Creates a source for the project in `SUPABASE_URL` with the key in `SUPABASE_SERVICE_KEY`. Returns `None` unless
    /// both are set, and an [`UnavailableEvidence`] if one of them is invalid.
    pub fn from_env(client: HttpClient) -> Option<Arc<dyn EvidenceSource>> {
        match PostgrestClient::from_env(client) {
            Ok(client) => client.map(|client| Arc::new(Self::new(client)) as _),
            Err(error) => Some(Arc::new(UnavailableEvidence::new(&error))),
        }
    }

    /// Reads the newest events of the window and returns those that contain a keyword, by the number of keywords, then
    /// newest first.
    async fn select_by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let window_start = SystemClock.now().before(request.window);
        let select = Select::columns(["id", "created_at", "content_text", "translated_text"])
            .filter("created_at", FilterOperator::Gte, window_start.to_string())
            .descending("created_at")
            .limit(request.match_count.saturating_mul(OVERFETCH_FACTOR) as u64);
        let mut events: Vec<NewsEvent> = self.client.select(EVENTS, &select).await?;
        events.retain(|event| event.count_keywords(keywords) > 0);
        let signals = self.signals(&events).await?;
        events.retain(|event| event.is_accepted(&signals, request));
        events.sort_by_key(|event| std::cmp::Reverse(event.count_keywords(keywords)));
        events.truncate(request.match_count);
        Ok(events.into_iter().map(|event| event.into_evidence(keywords)).collect())
    }

    /// Returns the signals of these events. A project without the table has none.
    async fn signals(&self, events: &[NewsEvent]) -> Result<Vec<Signal>> {
        let mut signals = Vec::new();
        for events in events.chunks(MAX_IDS_PER_REQUEST) {
            let ids: Vec<Value> = events.iter().map(|event| json!(event.id)).collect();
            let select = Select::columns(["news_event_id", "assets", "confidence"]).filter(
                "news_event_id",
                FilterOperator::In,
                Value::Array(ids),
            );
            match self.client.select::<Signal>(SIGNALS, &select).await {
                Ok(rows) => signals.extend(rows),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
        Ok(signals)
    }
}

/// A row of the table of events.
#[derive(Debug, Deserialize)]
struct NewsEvent {
    id: EventId,
    created_at: Option<String>,
    content_text: Option<String>,
    translated_text: Option<String>,
}

impl NewsEvent {
    fn count_keywords(&self, keywords: &[String]) -> usize {
        let text = self
            .translated_text
            .as_ref()
            .or(self.content_text.as_ref())
            .map_or_else(String::new, |text| text.to_lowercase());
        keywords.iter().filter(|keyword| text.contains(&keyword.to_lowercase())).count()
    }

    /// Returns true if a signal of the event meets the conditions. As in the SQL function, an event of unknown
    /// confidence is accepted, and an event of unknown assets only if no assets are asked for.
    fn is_accepted(&self, signals: &[Signal], request: &EvidenceRequest) -> bool {
        let mut of_event = signals.iter().filter(|signal| signal.news_event_id == self.id).peekable();
        if of_event.peek().is_none() {
            return request.assets.is_empty();
        }
        of_event.any(|signal| {
            signal.confidence.is_none_or(|confidence| confidence >= request.min_confidence)
                && (request.assets.is_empty() || signal.is_about(&request.assets))
        })
    }

    fn into_evidence(self, keywords: &[String]) -> Evidence {
        let match_score = self.count_keywords(keywords) as f64 / keywords.len().max(1) as f64;
        Evidence {
            news_event_id: Some(self.id),
            record_id: None,
            created_at: self.created_at,
            content_text: self.content_text,
            translated_text: self.translated_text,
            match_score,
        }
    }
}

/// A row of the table of signals.
#[derive(Debug, Deserialize)]
struct Signal {
    news_event_id: EventId,
    /// Asset codes, separated by commas.
    assets: Option<String>,
    confidence: Option<f64>,
}

impl Signal {
    fn is_about(&self, assets: &[String]) -> bool {
        let codes = self.assets.as_deref().unwrap_or_default().split(',').map(str::trim);
        codes.into_iter().any(|code| assets.iter().any(|asset| asset == code))
    }
}

fn hours(request: &EvidenceRequest) -> u64 {
    request.window.as_secs().div_ceil(60 * 60)
}

fn assets(request: &EvidenceRequest) -> Option<&[String]> {
    (!request.assets.is_empty()).then_some(&request.assets)
}

#[async_trait]
impl EvidenceSource for SupabaseEvidence {
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let arguments = json!({
            "query_embedding": embedding,
            "match_threshold": request.match_threshold,
            "match_count": request.match_count,
            "asset_filter": assets(request),
            "min_confidence": request.min_confidence,
            "time_window_hours": hours(request),
        });
        self.client.rpc("search_memory_events", &arguments).await
    }

    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let arguments = json!({
            "query_keywords": keywords,
            "time_window_hours": hours(request),
            "match_count": request.match_count,
            "min_confidence": request.min_confidence,
            "asset_filter": assets(request),
        });
        match self.client.rpc("search_memory_events_keywords", &arguments).await {
            Err(error) if error.kind() == ErrorKind::NotFound => self.select_by_keywords(keywords, request).await,
            found => found,
        }
    }
}
