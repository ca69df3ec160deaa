//! Two layers of market analysis, the second with evidence from memory.

mod analyst;
mod sources;
mod stand_in;

use std::sync::Arc;

use analyst::Analyst;
use anyhow::Result;
use clap::Parser;
use memory_engine::{
    Error, ErrorKind,
    embed::{Embedder, HashEmbedder, Purpose},
    http_models::{HttpChatModel, HttpClient, HttpEmbedder, HttpOptions},
    llm::{ChatModel, ScriptedModel},
};
use memory_engine_evidence::{
    EvidenceCascade, EvidenceOptions, EvidenceQuery, EvidenceSource, SupabaseEvidence, UnavailableEvidence,
};
use serde_json::{Value, json};

/// Analyse market news: a first call classifies each item, a second one analyses it with evidence from memory.
///
/// Needs no key: by default, it uses bundled data and a script. CHAT_SERVICE=deepseek (or openai, siliconflow,
/// ollama …) uses a real chat model, whose key is read from a variable such as DEEPSEEK_API_KEY, and
/// EMBEDDING_SERVICE=openai a real embedder. SUPABASE_URL with SUPABASE_SERVICE_KEY searches that project.
/// MEMORY_BACKEND, MEMORY_MATCH_THRESHOLD, MEMORY_TIME_WINDOW_HOURS and MEMORY_MATCH_COUNT set the options of the search.
#[derive(Parser)]
struct Args {
    /// News item to analyse; default: the bundled items, one after another
    flash: Vec<String>,
    /// Database of events, without Supabase: postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, env = "MARKET_DB", hide_env_values = true)]
    db: Option<String>,
    /// Schema of the tables in the database
    #[arg(long, default_value = "market_evidence")]
    schema: String,
    /// Use a local stand-in for Supabase
    #[arg(long, conflicts_with = "db")]
    stand_in: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().without_time().with_target(false).with_writer(std::io::stderr).init();
    let args = Args::parse();
    let http = HttpClient::new(HttpOptions::default())?;
    // The tables of the document have 1536 dimensions.
    let hash_embedder: Arc<dyn Embedder> = Arc::new(HashEmbedder::with_dimensions(1536)?);
    let (embedder, query_embedder) = match HttpEmbedder::from_env(http.clone()).await {
        Ok(Some(embedder)) => {
            let embedder: Arc<dyn Embedder> = Arc::new(embedder);
            (Arc::clone(&embedder), Some(embedder))
        }
        Ok(None) => (Arc::clone(&hash_embedder), Some(hash_embedder)),
        Err(e) => {
            tracing::warn!("no vectors are searched: {e}");
            (hash_embedder, None)
        }
    };
    let database = match &args.db {
        Some(url) => Some(sources::postgres(url, &args.schema, &embedder).await.unwrap_or_else(|e| unavailable(&e))),
        None if args.stand_in => Some(stand_in::supabase(&http, &embedder).await?),
        None => SupabaseEvidence::from_env(http.clone()),
    };
    let cascade = EvidenceCascade::new(sources::local(&embedder).await?);
    let cascade = cascade.with_database(database).with_options_from_env(EvidenceOptions::default());
    let analyst = Analyst { model: model(&http)?, config: toml::from_str(include_str!("../market.toml"))? };
    let bundled = include_str!("../data/flashes.txt").lines().map(str::to_owned);
    let flashes = if args.flash.is_empty() { bundled.collect() } else { vec![args.flash.join(" ")] };
    for flash in flashes {
        analyse(&flash, &analyst, &cascade, query_embedder.as_deref()).await?;
    }
    let statistics = cascade.statistics();
    for (slot, counts) in [
        ("supabase_vector", statistics.supabase_vector),
        ("supabase_keyword", statistics.supabase_keyword),
        ("local_keyword", statistics.local_keyword),
    ] {
        if counts.searches() > 0 {
            println!("{slot}: {} of {} searches found evidence", counts.hits, counts.searches());
        }
    }
    Ok(())
}

/// Returns a source for a database that cannot be opened.
fn unavailable(error: &anyhow::Error) -> Arc<dyn EvidenceSource> {
    let cause = error.downcast_ref::<Error>();
    let other = || UnavailableEvidence::new(&Error::new(ErrorKind::Unavailable, "database", error.to_string()));
    Arc::new(cause.map_or_else(other, UnavailableEvidence::new))
}

/// Analyses one flash with both layers. Without an embedder, evidence is searched by keywords only.
async fn analyse(
    flash: &str,
    analyst: &Analyst,
    cascade: &EvidenceCascade,
    embedder: Option<&dyn Embedder>,
) -> Result<()> {
    println!("▶ {flash}");
    let signal = analyst.fast(flash).await?;
    println!("  fast   {} · {} · {:.2}", signal.event_type, signal.asset, signal.confidence);
    if !analyst.needs_deep_analysis(&signal) {
        println!("  deep   skipped: the confidence is too low, or the type is not on the white list\n");
        return Ok(());
    }
    let (keywords, assets) = analyst.derive(flash, &signal);
    let mut query = EvidenceQuery::new().with_keywords(&keywords).about_assets(assets);
    if let Some(embedder) = embedder {
        match embedder.embed(&[flash], Purpose::Query).await {
            Ok(vectors) => query = query.with_embedding(vectors[0].values().to_vec()),
            Err(e) => tracing::warn!("no vector, so keywords only: {e}"),
        }
    }
    let evidence = cascade.gather(&query).await;
    println!("  memory{}", if evidence.is_empty() { " no evidence" } else { "" });
    let slots = [&evidence.supabase_vector, &evidence.supabase_keyword, &evidence.local_keyword];
    for (slot, pieces) in ["supabase_vector", "supabase_keyword", "local_keyword"].into_iter().zip(slots) {
        for piece in pieces.iter().flatten() {
            let (id, text) = (json!(piece.news_event_id), piece.content_text.as_deref().unwrap_or_default());
            println!("    {slot} {:.2} #{id} {text}", piece.match_score);
        }
    }
    let is_web_open = analyst.may_search_the_web(&signal, &evidence);
    let strength = evidence.strength();
    let gate = if is_web_open { "open: the evidence is missing or weak, and recent news matters" } else { "closed" };
    println!("  web    {gate} (strength {strength:.2})");
    println!("  deep   {}\n", serde_json::to_string(&analyst.deep(flash, &signal, &evidence, is_web_open).await?)?);
    Ok(())
}

/// Returns the model of the environment, or a scripted one for the bundled flashes. The input of the deep layer is an
/// object that contains the flash; that of the fast layer is the flash.
fn model(http: &HttpClient) -> Result<Arc<dyn ChatModel>> {
    if let Some(model) = HttpChatModel::from_env(http.clone())? {
        return Ok(Arc::new(model));
    }
    let mut script = ScriptedModel::default();
    for line in include_str!("../data/script.jsonl").lines() {
        let line: Value = serde_json::from_str(line)?;
        script = script.when_asked(line["asked"].as_str().unwrap_or_default(), line["answer"].to_string());
    }
    let unknown = r#"{"event_type":"unknown","asset":"NONE","summary":"not a bundled flash","confidence":0}"#;
    Ok(Arc::new(script.otherwise(unknown)))
}
