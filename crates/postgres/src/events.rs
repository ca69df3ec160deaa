//! The documents' functions over memories as events, called directly.

use std::time::Duration;

use memory_engine_core::{Error, Result, Scope, Timestamp};
use pgvector::Vector;
use sqlx::{Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError, database::statement::Statement, database::transaction::reading,
    store::PostgresStore,
};

/// A search for events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Maximum number of events.
    pub match_count: usize,
    /// The least confidence.
    pub min_confidence: f64,
    /// Maximum age of an event, in whole hours, rounded up.
    pub window: Duration,
    /// Only these assets (tags of the records), unless there are none.
    pub assets: Vec<String>,
}

/// An event that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryEvent {
    /// The record.
    pub record_id: Uuid,
    /// The time of the event.
    pub occurred_at: Timestamp,
    /// Its text.
    pub content_text: String,
    /// Its translation, if its metadata has one.
    pub translated_text: Option<String>,
    /// The similarity, or the part of the keywords that it holds: 0 to 1.
    pub score: f64,
}

impl EventQuery {
    /// The `match_count` best of the last `window`, however sure, about any asset.
    pub fn new(match_count: usize, window: Duration) -> Self {
        Self { match_count, min_confidence: 0.0, window, assets: Vec::new() }
    }

    /// Only what is as sure as this.
    #[must_use]
    pub fn with_min_confidence(mut self, confidence: f64) -> Self {
        self.min_confidence = confidence;
        self
    }

    /// Only what is about one of these assets.
    #[must_use]
    pub fn about_assets<T: Into<String>>(mut self, assets: impl IntoIterator<Item = T>) -> Self {
        self.assets = assets.into_iter().map(Into::into).collect();
        self
    }
}

impl PostgresStore {
    /// The function `search_memory_events`: events whose vector is as near as `match_threshold` (a cosine), nearest
    /// first.
    ///
    /// # Errors
    /// `InvalidInput` for a scope that is narrower than a user.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn events_by_vector(
        &self,
        scope: &Scope,
        embedding: &[f32],
        match_threshold: f64,
        query: &EventQuery,
    ) -> Result<Vec<MemoryEvent>> {
        whole_user(scope)?;
        let write = |statement: &mut Statement| {
            statement.push("f.similarity AS score FROM search_memory_events(").bind(Vector::from(embedding.to_vec()));
            statement.push(", ").bind(match_threshold).push(", ").bind(count(query));
            statement.push(", ").bind(assets(query)).push(", ").bind(query.min_confidence);
            statement.push(", ").bind(hours(query));
            owner(scope, statement);
        };
        self.events("event search", write).await
    }

    /// The function `search_memory_events_keywords`: events that hold any of the keywords, those with most of them
    /// first, of these the newest.
    ///
    /// # Errors
    /// `InvalidInput` for a scope that is narrower than a user.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn events_by_keywords(
        &self,
        scope: &Scope,
        keywords: &[String],
        query: &EventQuery,
    ) -> Result<Vec<MemoryEvent>> {
        whole_user(scope)?;
        let write = |statement: &mut Statement| {
            statement.push("f.match_score AS score FROM search_memory_events_keywords(").bind(keywords.to_vec());
            statement.push(", ").bind(hours(query)).push(", ").bind(count(query));
            statement.push(", ").bind(query.min_confidence).push(", ").bind(assets(query));
            owner(scope, statement);
        };
        self.events("event search", write).await
    }

    async fn events(&self, operation: &'static str, write: impl Fn(&mut Statement)) -> Result<Vec<MemoryEvent>> {
        let rows = reading!(self, operation, |connection| {
            let mut statement = Statement::new(
                "SELECT f.record_id, (extract(epoch FROM f.created_at) * 1000000)::bigint AS occurred_at, f.content_text,
                        f.translated_text, ",
            );
            write(&mut statement);
            statement.rows(connection).await
        })?;
        let events: std::result::Result<Vec<MemoryEvent>, PostgresError> = rows.iter().map(event).collect();
        events.map_err(|failure| failure.into_error(operation))
    }
}

fn event(row: &PgRow) -> std::result::Result<MemoryEvent, PostgresError> {
    Ok(MemoryEvent {
        record_id: row.try_get("record_id")?,
        occurred_at: Timestamp::from_micros(row.try_get("occurred_at")?),
        content_text: row.try_get("content_text")?,
        translated_text: row.try_get("translated_text")?,
        score: row.try_get("score")?,
    })
}

fn owner(scope: &Scope, statement: &mut Statement) {
    statement.push(", ").bind(scope.user_name().map(str::to_owned));
    statement.push(", ").bind(scope.tenant().to_owned()).push(") f");
}

/// The functions know tenants and users.
fn whole_user(scope: &Scope) -> Result<()> {
    if *scope == scope.namespace() {
        return Ok(());
    }
    Err(Error::invalid("event search", format!("{scope} is narrower than a user; ask for {}", scope.namespace())))
}

fn count(query: &EventQuery) -> i32 {
    i32::try_from(query.match_count).unwrap_or(i32::MAX)
}

fn hours(query: &EventQuery) -> i32 {
    i32::try_from(query.window.as_secs().div_ceil(60 * 60)).unwrap_or(i32::MAX)
}

fn assets(query: &EventQuery) -> Option<Vec<String>> {
    (!query.assets.is_empty()).then(|| query.assets.clone())
}
