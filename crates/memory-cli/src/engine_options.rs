//! The options of the engine that a command or a server opens.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{
    Builder, Clock, Database, EnrichmentOptions, Language, RecallOptions, audit::AuditOptions, graph::GraphExtractor,
    recall::Rewrite, retention::RetentionPolicy, review::ReviewPolicy, scene::ScenePolicy, screening::ScreeningPolicy,
    sqlite::SqliteOptions,
};
use memory_engine_server::local_zone;

use crate::{
    extraction::{DigestArgs, ExtractionMethod, GraphArgs},
    reranker::{RerankerArgs, RerankerChoice},
    screening::ScreeningArgs,
};

/// The options of commands that recall.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecallArgs {
    #[command(flatten)]
    reranker: RerankerArgs,
    #[command(flatten)]
    graph: GraphArgs,
}

impl RecallArgs {
    /// Returns engine options with this reranker and graph.
    pub(crate) fn engine_options(&self) -> EngineOptions {
        let Self { reranker: RerankerArgs { reranker }, graph } = self;
        EngineOptions { reranker: reranker.clone(), graph: graph.reader(), ..EngineOptions::default() }
    }
}

/// The options of commands that store texts: their screening, their enrichment by topics, facts, summaries and the
/// graph, and the review of new memories.
#[derive(Debug, Clone, Args)]
pub(crate) struct EnrichmentArgs {
    #[command(flatten)]
    pub(crate) screening: ScreeningArgs,
    #[command(flatten)]
    pub(crate) digest: DigestArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    /// New memories that wait for `memory review`
    ///
    /// They wait or are not stored: SOURCE=MODE, separated by commas, as in model_facts=review,imports=reject. Sources
    /// are rule_facts, model_facts,
    /// facts (both), summaries, profiles, imports, tools and all. Modes are automatic, review and reject. Default: all
    /// automatic.
    #[arg(long, env = "MEMORY_REVIEW", hide_env_values = true, value_name = "SOURCE=MODE")]
    pub(crate) review: Option<ReviewPolicy>,
}

/// The options of an engine, in addition to its database and models.
#[derive(Debug, Clone, Default)]
pub(crate) struct EngineOptions {
    /// The enrichment of turns.
    pub(crate) enrichment: EnrichmentOptions,
    /// The extractor of entities and relations.
    pub(crate) graph: Option<Arc<dyn GraphExtractor>>,
    /// The reranker.
    pub(crate) reranker: RerankerChoice,
    /// The rewrite of vague queries.
    pub(crate) rewrite: Option<Rewrite>,
    /// Options of recalls. Default: those of the engine.
    pub(crate) recall: Option<RecallOptions>,
    /// The scenes that are visible from each scene. Default: that of the engine.
    pub(crate) scene_policy: Option<ScenePolicy>,
    /// The action for each category of secrets. Default: that of the environment.
    pub(crate) screening: Option<ScreeningPolicy>,
    /// The mode and retention of the audit log. Default: an existing log is continued.
    pub(crate) audit: AuditOptions,
    /// Size of the page cache in bytes. Default: that of the store.
    pub(crate) page_cache: Option<usize>,
    /// Times to live of new records. Default: none.
    pub(crate) retention: RetentionPolicy,
    /// The review of new memories. Default: none.
    pub(crate) review: ReviewPolicy,
    /// Time zone of the users. Default: the zone of this machine.
    pub(crate) zone: Option<TimeZone>,
    /// Language of generated texts. Default: the language of the source text.
    pub(crate) language: Option<Language>,
    /// The clock. Default: the clock of the machine.
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl From<EnrichmentOptions> for EngineOptions {
    fn from(enrichment: EnrichmentOptions) -> Self {
        Self { enrichment, ..Self::default() }
    }
}

impl EngineOptions {
    /// Sets the time zone and the language of the users.
    pub(crate) fn with_locale(mut self, zone: TimeZone, language: Option<Language>) -> Self {
        self.zone = Some(zone);
        self.language = language;
        self
    }

    /// Applies the options and this database to a builder.
    ///
    /// # Errors
    /// If the reranker has no key or no model. If the screening policy in the environment is not valid.
    pub(crate) fn configure(self, builder: Builder, database: &Database) -> Result<Builder> {
        let screening = ScreeningArgs { screening: self.screening }.policy()?;
        let mut builder = self.reranker.configure(builder)?.screening(screening);
        builder = builder.audit(self.audit).enrichment(self.enrichment).zone(self.zone.unwrap_or_else(local_zone));
        builder = builder.review(self.review).retention(self.retention);
        if let Some(language) = self.language {
            builder = builder.language(language);
        }
        if let Some(clock) = self.clock {
            builder = builder.clock(clock);
        }
        builder = match (self.page_cache, database.path()) {
            (Some(bytes), Some(path)) => {
                let options = SqliteOptions::default().with_cache_bytes(bytes);
                let options = match database.key() {
                    Some(key) => options.with_encryption_key(key.clone()),
                    None => options,
                };
                builder.sqlite_with(path, options)
            }
            _ => builder.database(database.clone()),
        };
        if let Some(rewrite) = self.rewrite {
            builder = builder.rewrite(rewrite);
        }
        if let Some(options) = self.recall {
            builder = builder.recall_options(options);
        }
        if let Some(policy) = self.scene_policy {
            builder = builder.scene_policy(policy);
        }
        Ok(match self.graph {
            Some(extractor) => builder.graph(extractor),
            None => builder,
        })
    }
}

impl EnrichmentArgs {
    /// Returns engine options with this enrichment. No service is called yet.
    ///
    /// # Errors
    /// If a key or the name of a model is missing. If the screening policy in the environment is not valid.
    pub(crate) fn engine_options(&self) -> Result<EngineOptions> {
        Ok(EngineOptions {
            enrichment: self.digest.options()?,
            graph: self.graph.extractor()?,
            review: self.review.unwrap_or_default(),
            screening: Some(self.screening.policy()?),
            ..EngineOptions::default()
        })
    }

    /// Returns the engine options for a command that requires an extraction method.
    ///
    /// # Errors
    /// If no method is given; otherwise as [`engine_options`](Self::engine_options).
    pub(crate) fn required_engine_options(&self) -> Result<EngineOptions> {
        if self.digest.digest == ExtractionMethod::None && self.graph.graph == ExtractionMethod::None {
            bail!(
                "no extraction method given; add --digest rules or --graph rules, or name a service, as in \
                 --digest openai"
            );
        }
        self.engine_options()
    }
}
