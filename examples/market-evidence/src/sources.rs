//! The sources of evidence.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use memory_engine::{
    Builder, Clock, Kind, MemoryEngine, Scope, SystemClock, Turn,
    embed::Embedder,
    postgres::{PostgresOptions, PostgresStore},
};
use memory_engine_evidence::{DatabaseEvidence, EvidenceSource, LocalEvidence};
use serde::Deserialize;

/// One item of `data/news.jsonl`.
#[derive(Deserialize)]
struct News {
    id: u64,
    hours_ago: u64,
    text: String,
    assets: Vec<String>,
    event_type: String,
    confidence: f64,
    /// A note of the desk's own, which no database has.
    #[serde(default)]
    desk: bool,
}

/// A memory in this process, with the desk's notes or without.
pub(crate) async fn local(embedder: &Arc<dyn Embedder>, with_notes: bool) -> Result<Arc<dyn EvidenceSource>> {
    let engine = filled(MemoryEngine::builder().in_memory(), embedder, with_notes).await?;
    Ok(Arc::new(LocalEvidence::new(engine, Scope::user("desk")?)))
}

/// A Postgres database of events, asked by its SQL functions.
pub(crate) async fn postgres(url: &str, schema: &str, embedder: &Arc<dyn Embedder>) -> Result<Arc<dyn EvidenceSource>> {
    let builder = MemoryEngine::builder().embedder(Arc::clone(embedder));
    let options = PostgresOptions::default().with_schema(schema);
    let store = Arc::new(PostgresStore::connect_with(url, builder.store_options(), options).await?);
    filled(builder.stores(store.clone()), embedder, false).await?;
    Ok(Arc::new(DatabaseEvidence::new(store, Scope::user("desk")?)))
}

/// An engine with the news in it, vectors and all.
async fn filled(builder: Builder, embedder: &Arc<dyn Embedder>, with_notes: bool) -> Result<MemoryEngine> {
    let engine = builder.embedder(Arc::clone(embedder)).background(false).build().await?;
    let scope = Scope::user("desk")?;
    for line in include_str!("../data/news.jsonl").lines() {
        let item: News = serde_json::from_str(line)?;
        if item.desk && !with_notes {
            continue;
        }
        // An event is as old as it says now, so that the windows of the document mean something on any day.
        let at = SystemClock.now().before(Duration::from_secs(item.hours_ago * 3600));
        let turn = Turn::note(item.text).with_kind(Kind::EVENT).with_message_id(item.id.to_string()).at(at);
        let turn = turn.with_tags(item.assets).with_confidence(item.confidence).with_scene(item.event_type);
        engine.remember(&scope, turn).await?;
    }
    engine.drain(&scope, |_| ()).await?;
    Ok(engine)
}
