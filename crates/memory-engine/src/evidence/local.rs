//! The local memory as a source of evidence.

use async_trait::async_trait;
use memory_core::{Embedding, Field, Filter, Hit, Op, Record, RecordId, Result, Scope, Value, text};
use memory_vector_store::VectorQuery;

use super::{EventId, Evidence, EvidenceRequest, EvidenceSource, since};
use crate::{Arms, MemoryEngine, RecallQuery};

/// How many more hits than asked for are looked at, since the order is by keywords held.
const LOOKED_AT: usize = 10;

/// The memories within a scope of an engine. Assets are tags there.
#[derive(Debug, Clone)]
pub struct LocalEvidence {
    engine: MemoryEngine,
    scope: Scope,
}

impl LocalEvidence {
    /// What `engine` holds within `scope`.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope }
    }

    fn filter(&self, request: &EvidenceRequest) -> Filter {
        let since = since(self.engine.clock().now(), request.window);
        let mut filter = Filter::compare(Field::OccurredAt, Op::Ge, since).and(Filter::compare(
            Field::Confidence,
            Op::Ge,
            request.min_confidence,
        ));
        if !request.assets.is_empty() {
            filter = filter.and(Filter::In(Field::Tags, request.assets.iter().cloned().map(Value::Text).collect()));
        }
        filter
    }

    async fn records(&self, hits: &[Hit]) -> Result<Vec<Option<Record>>> {
        let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
        self.engine.records().get(&self.scope, &ids).await
    }
}

#[async_trait]
impl EvidenceSource for LocalEvidence {
    async fn by_vector(&self, embedding: &[f32], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let query = VectorQuery::new(Embedding::new(embedding.to_vec())?, request.match_count)
            .with_filter(Some(self.filter(request)));
        let hits = self.engine.vectors().search(&self.scope, &query).await?;
        let near: Vec<Hit> = hits.into_iter().filter(|hit| hit.score.value() >= request.match_threshold).collect();
        let records = self.records(&near).await?;
        let found = records.into_iter().zip(near).filter_map(|(record, hit)| Some((record?, hit)));
        Ok(found.map(|(record, hit)| evidence(&record, hit.score.value())).collect())
    }

    async fn by_keywords(&self, keywords: &[String], request: &EvidenceRequest) -> Result<Vec<Evidence>> {
        let query = RecallQuery::new(keywords.join(" "))
            .with_arms(Arms::KeywordOnly)
            .with_filter(self.filter(request))
            .with_limit(LOOKED_AT * request.match_count);
        let hits = self.engine.recall(&self.scope, query).await?.hits;
        let keywords: Vec<String> = keywords.iter().map(|k| text::normalize(k)).collect();
        let mut found: Vec<(usize, Record)> =
            hits.into_iter().map(|hit| (held(&keywords, &hit.record), hit.record)).collect();
        // As the document's function has it: by how many keywords, the newest first.
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then(y.occurred_at.cmp(&x.occurred_at)).then(x.id.cmp(&y.id)));
        found.truncate(request.match_count);
        let score = |held: usize| held as f64 / keywords.len().max(1) as f64;
        Ok(found.into_iter().map(|(held, record)| evidence(&record, score(held))).collect())
    }
}

/// How many of the keywords a record holds. It was found, so at least one: another form of it, if not the letters.
fn held(keywords: &[String], record: &Record) -> usize {
    let text = text::normalize(&record.text);
    keywords.iter().filter(|keyword| text.contains(keyword.as_str())).count().max(1)
}

fn evidence(record: &Record, match_score: f64) -> Evidence {
    let translated = record.metadata.get("translated_text").and_then(|text| text.as_str());
    Evidence {
        news_event_id: EventId::Text(record.id.to_string()),
        created_at: Some(record.occurred_at.to_string()),
        content_text: Some(record.text.clone()),
        translated_text: translated.map(str::to_owned),
        match_score,
    }
}
