//! The local memory as a source of evidence.

use std::time::Duration;

use async_trait::async_trait;
use memory_engine::{MemoryEngine, RecallQuery, recall::Retrievers};
use memory_engine_core::{
    Embedding, Error, ErrorKind, Field, Filter, FilterValue, Hit, Op, Record, RecordId, Result, Scope, State, Terms,
    Timestamp,
};
use memory_engine_vector_store::VectorQuery;

use crate::{
    evidence::{EventId, Evidence},
    query::EvidenceRequest,
    source::EvidenceSource,
};

/// Factor of hits read. They are sorted again by the number of keywords that they contain.
const OVERFETCH_FACTOR: usize = 10;

/// The memories of an engine that are visible from a scope. Assets are their tags.
#[derive(Debug, Clone)]
pub struct LocalEvidence {
    engine: MemoryEngine,
    scope: Scope,
}

impl LocalEvidence {
    /// Creates a source of the memories of `engine` that are visible from `scope`.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope }
    }

    fn filter(&self, request: &EvidenceRequest) -> Filter {
        let since = window_start(self.engine.settings().clock().now(), request.window);
        let mut filter = Filter::compare(Field::OccurredAt, Op::Ge, since).and(Filter::compare(
            Field::Confidence,
            Op::Ge,
            request.min_confidence,
        ));
        if !request.assets.is_empty() {
            filter =
                filter.and(Filter::In(Field::Tags, request.assets.iter().cloned().map(FilterValue::Text).collect()));
        }
        filter
    }

    async fn records(&self, hits: &[Hit]) -> Result<Vec<Option<Record>>> {
        let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
        self.engine.get_all(&self.scope, &ids).await
    }
}

#[async_trait]
impl EvidenceSource for LocalEvidence {
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let query = VectorQuery::new(Embedding::new(embedding.to_vec())?, request.match_count)
            .with_filter(Some(self.filter(request)));
        let hits = self.engine.admin().search_vectors(&self.scope, &query).await?;
        let similar: Vec<Hit> = hits.into_iter().filter(|hit| hit.score.value() >= request.match_threshold).collect();
        let records = self.records(&similar).await?;
        let active = |record: Option<Record>| record.filter(|record| record.state == State::Active);
        let found = records.into_iter().zip(similar).filter_map(|(record, hit)| Some((active(record)?, hit)));
        Ok(found.map(|(record, hit)| evidence(&record, hit.score.value())).collect())
    }

    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        // Keywords are searched literally: dates in them are not resolved, and synonyms are not added.
        let mut options = *self.engine.settings().recall_options();
        options.date_weight = 0.0;
        options.synonyms = false;
        let query = RecallQuery::new(keywords.join(" "))
            .with_retrievers(Retrievers::KeywordOnly)
            .with_filter(self.filter(request))
            .with_limit(request.match_count.saturating_mul(OVERFETCH_FACTOR))
            .with_options(options);
        let recall = self.engine.recall(&self.scope, query).await?;
        if let (true, Some(degraded)) = (recall.hits.is_empty(), recall.degraded.first()) {
            return Err(Error::new(ErrorKind::Timeout, "evidence", degraded.reason.clone()));
        }
        let keyword_terms = self.engine.admin().analyze_texts(keywords.to_vec()).await?;
        let texts = recall.hits.iter().map(|hit| searched_text(&hit.record).to_owned()).collect();
        let text_terms = self.engine.admin().analyze_texts(texts).await?;
        let records = recall.hits.into_iter().map(|hit| hit.record).zip(text_terms);
        let counted = records
            .map(|(record, terms)| (keyword_terms.iter().filter(|keyword| contains(&terms, keyword)).count(), record));
        let mut found: Vec<(usize, Record)> = counted.filter(|(matches, _)| *matches > 0).collect();
        // The same order as the SQL function: by the number of keywords, then newest first.
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then(y.occurred_at.cmp(&x.occurred_at)).then(x.id.cmp(&y.id)));
        found.truncate(request.match_count);
        let keyword_count = keywords.len().max(1) as f64;
        Ok(found.into_iter().map(|(matches, record)| evidence(&record, matches as f64 / keyword_count)).collect())
    }
}

/// Returns the text of a record that keywords are compared with: its translation, if it has one.
fn searched_text(record: &Record) -> &str {
    translation(record).unwrap_or(&record.text)
}

fn translation(record: &Record) -> Option<&str> {
    record.metadata.get("translated_text").and_then(|text| text.as_str())
}

/// Returns true if a text contains all terms of a keyword, in any inflected form.
fn contains(text: &Terms, keyword: &Terms) -> bool {
    !keyword.is_empty() && keyword.iter().all(|(term, _)| text.count(term) > 0)
}

fn evidence(record: &Record, match_score: f64) -> Evidence {
    Evidence {
        news_event_id: record.source.message_id.as_deref().map(EventId::read),
        record_id: Some(record.id.to_string()),
        created_at: Some(record.occurred_at.to_string()),
        content_text: Some(record.text.clone()),
        translated_text: translation(record).map(str::to_owned),
        match_score,
    }
}

/// Returns the start of a window that ends at `now`.
fn window_start(now: Timestamp, window: Duration) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(i64::try_from(window.as_micros()).unwrap_or(i64::MAX)))
}
