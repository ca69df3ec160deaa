//! Builds a server from its configuration.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use memory_engine::{
    MemoryEngine, SystemClock,
    http_models::Preset,
    llm::{ChatModel, DailyBudget},
    recall::Rewrite,
};
use memory_engine_server::{Config, Dialect, LoadedConfig, Setting, Sources, UpstreamConfig};

use crate::{
    args::StoreArgs,
    database::DatabaseArg,
    embedder::{EmbedderArgs, ModelFolderArgs},
    engine_options::{EngineOptions, EnrichmentArgs},
    extraction::{DigestArgs, ExtractionMethod, GraphArgs},
    remote,
    screening::ScreeningArgs,
    settings::Settings,
    upstream_model::upstream_model,
};

/// The configuration file that is read if it exists and no other is named.
const FILE: &str = "memory.toml";
const PREFIX: &str = "MEMORY_";

/// The sources of a server's settings. A flag overrides a variable (`MEMORY_LISTEN` for `listen`,
/// `MEMORY_LIMITS__MAX_CONCURRENT` for `limits.max_concurrent`), which overrides the file.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file
    ///
    /// Default: memory.toml, if it exists.
    #[arg(long, env = "MEMORY_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Database, as in other commands [default: memory.db]
    #[arg(long, value_name = "FILE|URL")]
    db: Option<String>,
    /// Embedder, as in other commands [default: auto]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,
    /// Reranker, as in other commands [default: none]
    #[arg(long, value_name = "NAME")]
    reranker: Option<String>,
    /// Extraction of facts and summaries [default: rules]
    #[arg(long, value_name = "NAME")]
    digest: Option<String>,
    /// Extraction of entities and relations [default: none]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// Service behind the chat gateway; repeatable
    ///
    /// siliconflow, openai, deepseek, ollama, openrouter or vllm. Its key is read from the environment or .env, for
    /// example from OPENAI_API_KEY. The configuration file can set other services.
    #[arg(long, value_name = "NAME")]
    upstream: Vec<Preset>,
}

impl ConfigArgs {
    /// Returns the sources without flags.
    pub(crate) fn from_file(config: Option<PathBuf>) -> Self {
        Self { config, ..Self::default() }
    }

    /// Loads the configuration.
    ///
    /// # Errors
    /// If a setting is unknown or has an invalid value; the message names its source.
    pub(crate) fn load(&self) -> Result<LoadedConfig> {
        let mut sources = Sources::new().with_variables(Settings::load()?.with_prefix(PREFIX));
        let default_file = || Some(PathBuf::from(FILE)).filter(|file| file.is_file());
        if let Some(file) = self.config.clone().or_else(default_file) {
            sources = sources.with_file(file);
        }
        let flags = [
            ("listen", &self.listen),
            ("db", &self.db),
            ("embedder", &self.embedder),
            ("reranker", &self.reranker),
            ("digest", &self.digest),
            ("graph", &self.graph),
        ];
        for (name, value) in flags {
            if let Some(value) = value {
                sources = sources.with_flag(name, value);
            }
        }
        let mut loaded = sources.load()?;
        let settings = Settings::load()?;
        for preset in &self.upstream {
            let upstream = upstream(*preset, &settings);
            // `memory config show` lists the source of each setting, also of those that a preset adds.
            loaded.settings.push(Setting {
                name: format!("gateway.upstreams.{}", upstream.name),
                value: format!("{:?}", upstream.base_url),
                source: "--upstream".into(),
            });
            loaded.config.gateway.upstreams.push(upstream);
        }
        Ok(loaded)
    }
}

/// Returns the upstream of a preset. Address and key are read from the same settings, so that a key is only sent to
/// its own service.
fn upstream(preset: Preset, settings: &Settings) -> UpstreamConfig {
    let key = preset.key_variable();
    let own_base_url = settings.get(preset.base_url_variable());
    // Another service at the address of the user may not have Responses.
    let has_responses = preset == Preset::OpenAi && own_base_url.is_none();
    let dialects = if has_responses { vec![Dialect::Chat, Dialect::Responses] } else { vec![Dialect::Chat] };
    UpstreamConfig {
        name: preset.as_str().into(),
        base_url: own_base_url.unwrap_or_else(|| preset.base_url().into()),
        key_env: (preset.needs_key() || settings.get(key).is_some()).then(|| key.into()),
        models: Vec::new(),
        dialects,
    }
}

/// Opens the database of a configuration.
///
/// # Errors
/// If a name is unknown, or the database cannot be opened.
pub(crate) async fn open(config: &Config) -> Result<MemoryEngine> {
    let named = |setting: &'static str| move |e: String| anyhow!("{setting}: {e}");
    let profile_every = Some(config.profile_every).filter(|messages| *messages > 0);
    let upstream = upstream_model(config)?;
    // The upstream's model replaces this method.
    let method =
        if upstream.is_some() { ExtractionMethod::Rules } else { config.digest.parse().map_err(named("digest"))? };
    let model = match (&method, upstream) {
        (ExtractionMethod::Remote(service), None) => Some(remote::chat(service, "digest")?),
        (_, upstream) => upstream,
    };
    let budget = Some(config.digest_tokens_per_day).filter(|tokens| *tokens > 0);
    let model = model.map(|model| match budget {
        Some(tokens) => Arc::new(DailyBudget::new(model, tokens, SystemClock)) as Arc<dyn ChatModel>,
        None => model,
    });
    let digest = DigestArgs { digest: method, profile_every };
    let graph = GraphArgs { graph: config.graph.parse().map_err(named("graph"))? };
    let embedder = EmbedderArgs {
        embedder: config.embedder.parse().map_err(named("embedder"))?,
        models: ModelFolderArgs { models_dir: config.models_dir.as_ref().map(PathBuf::from) },
    };
    let screening = ScreeningArgs { screening: Some(config.screening.clone()) };
    let Ok(db): Result<DatabaseArg, _> = config.db.parse();
    let options = EngineOptions {
        reranker: config.reranker.parse().map_err(named("reranker"))?,
        page_cache: Some(config.page_cache_bytes),
        rewrite: rewrite(&config.rewrite)?,
        recall: Some(config.recall),
        scene_policy: Some(config.scene_policy.clone()),
        audit: config.audit.options(),
        retention: config.retention.policy()?,
        ..EnrichmentArgs { screening, digest: digest.clone(), graph, review: Some(config.review) }.engine_options()?
    };
    let options = match model {
        Some(model) => EngineOptions { enrichment: digest.by_model(model)?, ..options },
        None => options,
    };
    let options = options.with_locale(config.time_zone()?, config.language);
    StoreArgs::new(db, embedder).serve(options).await
}

/// Returns the rewrite of vague queries by the chat model of a service.
fn rewrite(setting: &str) -> Result<Option<Rewrite>> {
    match setting.parse().map_err(|e: String| anyhow!("rewrite: {e}"))? {
        ExtractionMethod::None => Ok(None),
        ExtractionMethod::Rules => {
            bail!("rewrite: only a service can rewrite a query; write none or the name of a service, such as openai")
        }
        ExtractionMethod::Remote(service) => Ok(Some(Rewrite::by(remote::chat(&service, "rewrite")?))),
    }
}

/// Loads dictionaries while the server starts. If that fails, the first request loads them.
pub(crate) fn load_dictionaries(engine: &MemoryEngine) {
    let engine = engine.clone();
    tokio::spawn(async move { engine.admin().load_dictionaries().await });
}
