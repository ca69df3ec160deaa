//! Where evidence comes from.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use memory_engine::{
    Builder, Clock, Embedder, Kind, MemoryEngine, Scope, SystemClock, TextAnalyzer, Turn,
    evidence::{DatabaseEvidence, EvidenceSource, SupabaseEvidence},
    http_models::{HttpClient, PostgrestClient},
    index_fingerprint,
    postgres::{PostgresOptions, PostgresStore},
};
use serde::Deserialize;

/// One item of `data/news.jsonl`.
#[derive(Deserialize)]
pub(crate) struct News {
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

pub(crate) fn news() -> Result<Vec<News>> {
    include_str!("../data/news.jsonl").lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub(crate) fn scope() -> Result<Scope> {
    Ok(Scope::user("desk")?)
}

/// The local memory: all there is, the desk's notes too.
pub(crate) async fn local(embedder: &Arc<dyn Embedder>, news: &[News]) -> Result<MemoryEngine> {
    filled(MemoryEngine::builder().in_memory(), embedder, news, true).await
}

/// A Postgres database of events, asked by its SQL functions.
pub(crate) async fn postgres(
    url: &str,
    schema: &str,
    embedder: &Arc<dyn Embedder>,
    news: &[News],
) -> Result<Arc<dyn EvidenceSource>> {
    let options = PostgresOptions::new(embedder.space().clone(), index_fingerprint(&TextAnalyzer)).with_schema(schema);
    let store = Arc::new(PostgresStore::connect(url, options).await?);
    let builder = MemoryEngine::builder().stores(store.clone(), store.clone(), store.clone());
    filled(builder, embedder, news, false).await?;
    Ok(Arc::new(DatabaseEvidence::new(store, scope()?)))
}

/// The Supabase project of the environment, if there is one.
pub(crate) fn supabase(http: &HttpClient) -> Result<Option<Arc<dyn EvidenceSource>>> {
    let client = PostgrestClient::from_env(http.clone())?;
    Ok(client.map(|client| Arc::new(SupabaseEvidence::new(client)) as Arc<dyn EvidenceSource>))
}

/// An engine with the news in it, vectors and all.
pub(crate) async fn filled(
    builder: Builder,
    embedder: &Arc<dyn Embedder>,
    news: &[News],
    with_notes: bool,
) -> Result<MemoryEngine> {
    let (engine, scope) = (builder.embedder(Arc::clone(embedder)).background(false).build().await?, scope()?);
    for item in news.iter().filter(|item| with_notes || !item.desk) {
        // An event is as old as it says now, so that the windows of the document mean something on any day.
        let at = SystemClock.now().before(Duration::from_secs(item.hours_ago * 3600));
        let turn = Turn::note(item.text.as_str()).with_kind(Kind::EVENT).with_message_id(item.id.to_string()).at(at);
        let turn = turn.with_tags(item.assets.clone()).with_confidence(item.confidence);
        engine.remember(&scope, turn.with_scene(item.event_type.as_str())).await?;
    }
    engine.drain(&scope, |_| ()).await?;
    Ok(engine)
}
