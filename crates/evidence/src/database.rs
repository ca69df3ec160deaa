//! A Postgres database as a source of evidence, called directly instead of through an HTTP API.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Result, Scope};
use memory_engine_postgres::{EventQuery, MemoryEvent, PostgresStore};

use crate::{
    evidence::{EventId, Evidence},
    query::EvidenceRequest,
    source::EvidenceSource,
};

/// The functions `search_memory_events` and `search_memory_events_keywords` of a database, called directly. The set of
/// views [`ViewSet::Evidence`](memory_engine_core::ViewSet::Evidence) has to be installed.
#[derive(Debug, Clone)]
pub struct DatabaseEvidence {
    store: Arc<PostgresStore>,
    scope: Scope,
}

impl DatabaseEvidence {
    /// Creates a source of the events in the scope of a tenant or a user.
    pub fn new(store: Arc<PostgresStore>, scope: Scope) -> Self {
        Self { store, scope }
    }
}

fn query(request: &EvidenceRequest) -> EventQuery {
    EventQuery::new(request.match_count, request.window)
        .with_min_confidence(request.min_confidence)
        .about_assets(request.assets.iter().cloned())
}

fn evidence(event: MemoryEvent) -> Evidence {
    Evidence {
        news_event_id: event.news_event_id.map(EventId::Number),
        record_id: Some(event.record_id.to_string()),
        created_at: Some(event.occurred_at.to_string()),
        content_text: Some(event.content_text),
        translated_text: event.translated_text,
        match_score: event.score,
    }
}

#[async_trait]
impl EvidenceSource for DatabaseEvidence {
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let events =
            self.store.events_by_vector(&self.scope, embedding, request.match_threshold, &query(request)).await?;
        Ok(events.into_iter().map(evidence).collect())
    }

    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let events = self.store.events_by_keywords(&self.scope, keywords, &query(request)).await?;
        Ok(events.into_iter().map(evidence).collect())
    }
}
