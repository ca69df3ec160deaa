//! A Supabase project as a source of evidence, through the SQL functions of its database.

use async_trait::async_trait;
use memory_engine_core::Result;
use memory_engine_http_models::PostgrestClient;
use serde_json::json;

use crate::{evidence::Evidence, query::EvidenceRequest, source::EvidenceSource};

/// The functions `search_memory_events` and `search_memory_events_keywords`, called through PostgREST.
#[derive(Debug, Clone)]
pub struct SupabaseEvidence {
    client: PostgrestClient,
}

impl SupabaseEvidence {
    /// Creates a source with this client. [`PostgrestClient::from_env`] creates one from `SUPABASE_URL` and
    /// `SUPABASE_SERVICE_KEY`.
    pub fn new(client: PostgrestClient) -> Self {
        Self { client }
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
        self.client.rpc("search_memory_events_keywords", &arguments).await
    }
}
