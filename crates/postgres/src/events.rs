//! Calls the SQL functions of [`ViewSet::Evidence`](memory_engine_core::ViewSet::Evidence), which search events.

use std::time::Duration;

use memory_engine_core::{Error, Result, Scope, Timestamp};
use pgvector::Vector;
use sqlx::{Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError, database::statement::StatementBuilder, database::transaction::with_reader,
    store::PostgresStore,
};

/// A search for events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Maximum number of events returned.
    pub match_count: usize,
    /// Minimum confidence of an event, from 0 to 1. Default: 0.
    pub min_confidence: f64,
    /// Maximum age of an event. Rounded up to whole hours.
    pub window: Duration,
    /// Assets (tags of the records), of which an event must have one. Default: empty, for any event.
    pub assets: Vec<String>,
}

/// A hit of an event search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryEvent {
    /// The id of the record.
    pub record_id: Uuid,
    /// The number of the event in the table that it was copied from: the message id of the record if that is a number,
    /// otherwise its sequence number.
    pub news_event_id: Option<i64>,
    /// The time of the event.
    pub occurred_at: Timestamp,
    /// The text of the event.
    pub content_text: String,
    /// The translation of the text, if the metadata of the record contains one.
    pub translated_text: Option<String>,
    /// The cosine similarity, or the share of the keywords that the event contains, from 0 to 1.
    pub score: f64,
}

impl EventQuery {
    /// Creates a query for the best `match_count` events of the last `window`, of any confidence and asset.
    pub fn new(match_count: usize, window: Duration) -> Self {
        Self { match_count, min_confidence: 0.0, window, assets: Vec::new() }
    }

    /// Sets [`min_confidence`](Self::min_confidence).
    #[must_use]
    pub fn with_min_confidence(mut self, confidence: f64) -> Self {
        self.min_confidence = confidence;
        self
    }

    /// Sets [`assets`](Self::assets).
    #[must_use]
    pub fn about_assets<T: Into<String>>(mut self, assets: impl IntoIterator<Item = T>) -> Self {
        self.assets = assets.into_iter().map(Into::into).collect();
        self
    }
}

impl PostgresStore {
    /// Calls the function `search_memory_events`: returns the events whose vectors have a cosine similarity of at least
    /// `match_threshold`, nearest first.
    ///
    /// # Errors
    /// `InvalidInput` for a scope that is narrower than a user; `SchemaMismatch` if the set of views is not installed.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn events_by_vector(
        &self,
        scope: &Scope,
        embedding: &[f32],
        match_threshold: f64,
        query: &EventQuery,
    ) -> Result<Vec<MemoryEvent>> {
        check_whole_user(scope)?;
        let push_call = |statement: &mut StatementBuilder| {
            statement.push("f.similarity AS score FROM search_memory_events(").bind(Vector::from(embedding.to_vec()));
            statement.push(", ").bind(match_threshold).push(", ").bind(sql_match_count(query));
            statement.push(", ").bind(sql_assets(query)).push(", ").bind(query.min_confidence);
            statement.push(", ").bind(sql_window_hours(query));
            push_owner(scope, statement);
        };
        self.events("event search", push_call).await
    }

    /// Calls the function `search_memory_events_keywords`: returns the events that contain any of the keywords, ordered
    /// by the number of keywords, then newest first.
    ///
    /// # Errors
    /// `InvalidInput` for a scope that is narrower than a user; `SchemaMismatch` if the set of views is not installed.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn events_by_keywords(
        &self,
        scope: &Scope,
        keywords: &[String],
        query: &EventQuery,
    ) -> Result<Vec<MemoryEvent>> {
        check_whole_user(scope)?;
        let push_call = |statement: &mut StatementBuilder| {
            statement.push("f.match_score AS score FROM search_memory_events_keywords(").bind(keywords.to_vec());
            statement.push(", ").bind(sql_window_hours(query)).push(", ").bind(sql_match_count(query));
            statement.push(", ").bind(query.min_confidence).push(", ").bind(sql_assets(query));
            push_owner(scope, statement);
        };
        self.events("event search", push_call).await
    }

    async fn events(
        &self,
        operation: &'static str,
        push_call: impl Fn(&mut StatementBuilder),
    ) -> Result<Vec<MemoryEvent>> {
        let rows = with_reader!(self, operation, |connection| {
            let mut statement = StatementBuilder::new(
                "SELECT f.record_id, f.news_event_id,
                        (extract(epoch FROM f.created_at) * 1000000)::bigint AS occurred_at,
                        f.content_text, f.translated_text, ",
            );
            push_call(&mut statement);
            statement.fetch_all(connection).await
        })?;
        let events: std::result::Result<Vec<MemoryEvent>, PostgresError> = rows.iter().map(read_event).collect();
        events.map_err(|failure| failure.into_error(operation))
    }
}

fn read_event(row: &PgRow) -> std::result::Result<MemoryEvent, PostgresError> {
    Ok(MemoryEvent {
        record_id: row.try_get("record_id")?,
        news_event_id: row.try_get("news_event_id")?,
        occurred_at: Timestamp::from_micros(row.try_get("occurred_at")?),
        content_text: row.try_get("content_text")?,
        translated_text: row.try_get("translated_text")?,
        score: row.try_get("score")?,
    })
}

fn push_owner(scope: &Scope, statement: &mut StatementBuilder) {
    statement.push(", ").bind(scope.user_name().map(str::to_owned));
    statement.push(", ").bind(scope.tenant().to_owned()).push(") f");
}

/// Checks that the scope is a user or a tenant, since the SQL functions cannot search a part of a user.
fn check_whole_user(scope: &Scope) -> Result<()> {
    if *scope == scope.namespace() {
        return Ok(());
    }
    Err(Error::invalid(
        "event search",
        format!("{scope} is a part of a user; search events of {} instead", scope.namespace()),
    ))
}

fn sql_match_count(query: &EventQuery) -> i32 {
    i32::try_from(query.match_count).unwrap_or(i32::MAX)
}

fn sql_window_hours(query: &EventQuery) -> i32 {
    i32::try_from(query.window.as_secs().div_ceil(60 * 60)).unwrap_or(i32::MAX)
}

fn sql_assets(query: &EventQuery) -> Option<Vec<String>> {
    (!query.assets.is_empty()).then(|| query.assets.clone())
}
