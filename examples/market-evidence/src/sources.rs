//! The sources of evidence.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use memory_engine::{
    Builder, Clock, Kind, MemoryEngine, Scope, SystemClock, Turn,
    admin::ViewSet,
    embed::Embedder,
    postgres::{PostgresOptions, PostgresStore, install_views},
};
use memory_engine_evidence::{DatabaseEvidence, EvidenceSource, LocalEvidence};
use serde::Deserialize;

/// One item of `data/news.jsonl`.
#[derive(Clone, Deserialize)]
pub(crate) struct News {
    pub(crate) id: u64,
    pub(crate) hours_ago: u64,
    pub(crate) text: String,
    pub(crate) assets: Vec<String>,
    event_type: String,
    pub(crate) confidence: f64,
    /// True for a note of the desk, which is in the local memory only.
    #[serde(default)]
    pub(crate) desk: bool,
}

/// Reads `data/news.jsonl`.
pub(crate) fn news() -> Result<Vec<News>> {
    include_str!("../data/news.jsonl").lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Creates an in-memory source with all news and the notes of the desk.
pub(crate) async fn local(embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let engine = engine_with_news(MemoryEngine::builder().in_memory(), embedder, true).await?;
    Ok(Arc::new(LocalEvidence::new(engine, Scope::user("desk")?)))
}

/// Creates a source that calls the SQL functions of a Postgres database.
pub(crate) async fn postgres(url: &str, schema: &str, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let builder = MemoryEngine::builder().embedder(Arc::clone(embedder));
    let options = PostgresOptions::default().with_schema(schema);
    install_views(url, &options, ViewSet::Evidence).await?;
    let store = Arc::new(PostgresStore::connect_with(url, builder.store_options(), options).await?);
    engine_with_news(builder.stores(store.clone()), embedder, false).await?;
    Ok(Arc::new(DatabaseEvidence::new(store, Scope::user("desk")?)))
}

/// Builds an engine and indexes the news.
async fn engine_with_news(builder: Builder, embedder: &Arc<dyn Embedder>, with_notes: bool) -> Result<MemoryEngine> {
    let engine = builder.embedder(Arc::clone(embedder)).background(false).build().await?;
    let scope = Scope::user("desk")?;
    for item in news()?.into_iter().filter(|item| with_notes || !item.desk) {
        // The age of an event is relative to now, so that the time windows match on any day.
        let at = SystemClock.now().before(Duration::from_secs(item.hours_ago * 3600));
        let turn = Turn::note(item.text).with_kind(Kind::EVENT).with_message_id(item.id.to_string()).at(at);
        let turn = turn.with_tags(item.assets).with_confidence(item.confidence).with_scene(item.event_type);
        engine.remember(&scope, turn).await?;
    }
    engine.drain(&scope, |_| ()).await?;
    Ok(engine)
}
