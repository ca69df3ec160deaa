//! Two layers of market analysis, the second with evidence from memory.

mod analyst;
mod sources;
mod stand_in;

use std::{env, sync::Arc};

use analyst::{Analyst, DEEP, FAST, Signal};
use anyhow::{Context, Result};
use clap::Parser;
use memory_engine::{
    Embedder, HashEmbedder, Purpose,
    evidence::{EvidenceCascade, EvidenceOptions, EvidenceQuery, LocalEvidence},
    http_models::{HttpChatModel, HttpClient, HttpEmbedder, HttpOptions, Preset},
    llm::{ChatModel, ScriptedModel},
};
use serde::Deserialize;

/// Analyse market flashes: a fast layer decides, a deep one gets evidence from memory.
///
/// Runs without a key on what is bundled. CHAT_SERVICE=deepseek (or openai, siliconflow, ollama …; the key in DEEPSEEK_API_KEY
/// and the like) has a real model analyse, EMBEDDING_SERVICE=openai a real one make the vectors; SUPABASE_URL with
/// SUPABASE_SERVICE_KEY asks that project. MEMORY_BACKEND, MEMORY_MATCH_THRESHOLD, MEMORY_TIME_WINDOW_HOURS and
/// MEMORY_MATCH_COUNT are understood.
#[derive(Parser)]
struct Args {
    /// What has just come in; without it, the bundled flashes one after another
    flash: Vec<String>,
    /// A database of events without Supabase before it: postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, env = "MARKET_DB", hide_env_values = true)]
    db: Option<String>,
    /// The schema of its tables
    #[arg(long, default_value = "market_evidence")]
    schema: String,
    /// Ask a stand-in on this machine as if it were Supabase
    #[arg(long, conflicts_with = "db")]
    stand_in: bool,
}

/// A bundled flash, and what the bundled model makes of it.
#[derive(Deserialize)]
struct Flash {
    text: String,
    fast: Signal,
    deep: Option<Signal>,
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().without_time().with_target(false).with_writer(std::io::stderr).init();
    let args = Args::parse();
    let http = HttpClient::new(HttpOptions::default())?;
    let (news, embedder) = (sources::news()?, embedder(&http).await?);
    let database = match &args.db {
        Some(url) => Some(sources::postgres(url, &args.schema, &embedder, &news).await?),
        None if args.stand_in => Some(stand_in::supabase(&http, &embedder, &news).await?),
        None => sources::supabase(&http)?,
    };
    let local = LocalEvidence::new(sources::local(&embedder, &news).await?, sources::scope()?);
    let options = EvidenceOptions::default().from_env()?;
    let cascade = EvidenceCascade::new(Arc::new(local)).with_database(database).with_options(options);

    let lines = include_str!("../data/flashes.jsonl").lines();
    let bundled = lines.map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<Vec<Flash>>>()?;
    let config = toml::from_str(include_str!("../market.toml"))?;
    let analyst = Analyst { model: model(&http, &bundled)?, config };
    if !args.flash.is_empty() {
        return analyse(&args.flash.join(" "), &analyst, &cascade, &embedder).await;
    }
    for flash in bundled {
        analyse(&flash.text, &analyst, &cascade, &embedder).await?;
    }
    Ok(())
}

/// The whole way of one flash.
async fn analyse(
    flash: &str,
    analyst: &Analyst,
    cascade: &EvidenceCascade,
    embedder: &Arc<dyn Embedder>,
) -> Result<()> {
    println!("▶ {flash}");
    let signal = analyst.fast(flash).await?;
    println!("  fast   {} · {} · {:.2}", signal.event_type, signal.asset, signal.confidence);
    if !analyst.goes_deeper(&signal) {
        println!("  deep   not asked: the first layer is not sure enough, or the type is not on the white list\n");
        return Ok(());
    }
    let (keywords, assets) = analyst.derive(flash, &signal);
    let mut query = EvidenceQuery::new().with_keywords(&keywords).about_assets(assets);
    match embedder.embed(&[flash], Purpose::Query).await {
        Ok(vectors) => query = query.with_embedding(vectors[0].values().to_vec()),
        Err(e) => tracing::warn!("没有向量，仅用关键词: {e}"),
    }
    let evidence = cascade.gather(&query).await;
    println!("  memory{}", if evidence.is_empty() { " nothing" } else { "" });
    for (slot, pieces) in serde_json::to_value(&evidence)?.as_object().into_iter().flatten() {
        for piece in pieces.as_array().into_iter().flatten() {
            let (score, id) = (piece["match_score"].as_f64().unwrap_or_default(), &piece["news_event_id"]);
            println!("    {slot} {score:.2} #{id} {}", piece["content_text"].as_str().unwrap_or_default());
        }
    }
    let open = analyst.may_search_the_web(&signal, &evidence);
    println!("  web    {}", if open { "open: memory has little, and the latest matters" } else { "closed" });
    println!("  deep   {}\n", serde_json::to_string(&analyst.deep(flash, &signal, &evidence, open).await?)?);
    Ok(())
}

/// The service that a variable names.
fn service(variable: &str) -> Result<Option<Preset>> {
    env::var(variable).ok().map(|name| name.parse().context(variable.to_owned())).transpose()
}

async fn embedder(http: &HttpClient) -> Result<Arc<dyn Embedder>> {
    // Without a service, as many dimensions as the document's tables have.
    let Some(service) = service("EMBEDDING_SERVICE")? else {
        return Ok(Arc::new(HashEmbedder::with_dimensions(1536)?));
    };
    let options = service.embedding().context("EMBEDDING_SERVICE names a service without embeddings")?;
    Ok(Arc::new(HttpEmbedder::connect(http.clone(), service.endpoint()?, options).await?))
}

fn model(http: &HttpClient, bundled: &[Flash]) -> Result<Arc<dyn ChatModel>> {
    if let Some(service) = service("CHAT_SERVICE")? {
        let mut options = service.chat().unwrap_or_default();
        options.model = env::var("CHAT_MODEL").unwrap_or(options.model);
        return Ok(Arc::new(HttpChatModel::new(http.clone(), service.endpoint()?, options)?));
    }
    let mut script = ScriptedModel::default();
    for (layer, prompt) in [(true, FAST), (false, DEEP)] {
        for flash in bundled {
            let Some(answer) = (if layer { Some(&flash.fast) } else { flash.deep.as_ref() }) else { continue };
            let (text, answer) = (flash.text.clone(), serde_json::to_string(answer)?);
            script = script.when(
                move |request| request.messages[0].content == prompt && request.messages[1].content.contains(&text),
                answer,
            );
        }
    }
    let unknown = r#"{"event_type":"unknown","asset":"NONE","summary":"the bundled model knows the bundled flashes only","confidence":0}"#;
    Ok(Arc::new(script.otherwise(unknown)))
}
