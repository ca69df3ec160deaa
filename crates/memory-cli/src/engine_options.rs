//! The enrichment that a command or a server does: topics, facts, summaries and the graph.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{
    Builder, Database, EnrichmentOptions, Language, RecallOptions, graph::GraphExtractor, recall::Rewrite,
    scene::ScenePolicy, sqlite::SqliteOptions,
};
use memory_engine_server::local_zone;

use crate::{digest::DigestArgs, graph::GraphArgs, method::ExtractionMethod};

/// Enrichment of turns, in addition to indexing.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) digest: DigestArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

/// Enrichment of turns, in addition to indexing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    pub(crate) digest: EnrichmentOptions,
    pub(crate) graph: Option<Arc<dyn GraphExtractor>>,
    /// The rewrite of vague queries.
    pub(crate) rewrite: Option<Rewrite>,
    /// Options of recalls. Default: those of the engine.
    pub(crate) recall: Option<RecallOptions>,
    /// The scenes that are visible from each scene. Default: that of the engine.
    pub(crate) scene_policy: Option<ScenePolicy>,
    /// Size of the page cache in bytes. Default: that of the store.
    pub(crate) page_cache: Option<usize>,
    /// Time zone of the users. Default: the zone of this machine.
    pub(crate) zone: Option<TimeZone>,
    /// Language of generated texts. Default: the language of the source text.
    pub(crate) language: Option<Language>,
}

impl From<EnrichmentOptions> for Work {
    fn from(digest: EnrichmentOptions) -> Self {
        Self { digest, ..Self::default() }
    }
}

impl Work {
    /// Sets the time zone and the language of the users.
    pub(crate) fn with_locale(mut self, zone: TimeZone, language: Option<Language>) -> Self {
        self.zone = Some(zone);
        self.language = language;
        self
    }

    /// Adds the enrichment to a builder for this database.
    pub(crate) fn equip(self, builder: Builder, database: &Database) -> Builder {
        let mut builder = builder.enrichment(self.digest).zone(self.zone.unwrap_or_else(local_zone));
        if let Some(language) = self.language {
            builder = builder.language(language);
        }
        if let (Some(bytes), Some(path)) = (self.page_cache, database.path()) {
            builder = builder.sqlite_with(path, SqliteOptions::default().with_cache_bytes(bytes));
        }
        if let Some(rewrite) = self.rewrite {
            builder = builder.rewrite(rewrite);
        }
        if let Some(options) = self.recall {
            builder = builder.recall_options(options);
        }
        if let Some(policy) = self.scene_policy {
            builder = builder.scene_policy(policy);
        }
        match self.graph {
            Some(extractor) => builder.graph(extractor),
            None => builder,
        }
    }
}

impl WorkArgs {
    /// Returns the enrichment. No service is called yet.
    ///
    /// # Errors
    /// If a key or the name of a model is missing.
    pub(crate) fn work(&self) -> Result<Work> {
        Ok(Work { digest: self.digest.options()?, graph: self.graph.extractor()?, ..Work::default() })
    }

    /// Returns the enrichment for a command that needs a method.
    ///
    /// # Errors
    /// If no method is given; otherwise as [`work`](Self::work).
    pub(crate) fn required_work(&self) -> Result<Work> {
        if self.digest.digest == ExtractionMethod::None && self.graph.graph == ExtractionMethod::None {
            bail!(
                "no extraction method given; add --digest rules or --graph rules, or name a service, as in \
                 --digest openai"
            );
        }
        self.work()
    }
}
