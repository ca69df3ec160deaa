//! The work of the background: enrichment and graph.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{Builder, Database, EnrichmentOptions, Language, graph::GraphExtractor, sqlite::SqliteOptions};
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
    /// Size of the page cache, in bytes; the default of the store, unless set.
    pub(crate) page_cache: Option<usize>,
    /// The time zone of the users; the machine's, unless set.
    pub(crate) zone: Option<TimeZone>,
    /// The language of what is written; that of the text, unless set.
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

    /// Sets the work in a builder for this database.
    pub(crate) fn equip(self, builder: Builder, database: &Database) -> Builder {
        let mut builder = builder.enrichment(self.digest).zone(self.zone.unwrap_or_else(local_zone));
        if let Some(language) = self.language {
            builder = builder.language(language);
        }
        if let (Some(bytes), Some(path)) = (self.page_cache, database.path()) {
            builder = builder.sqlite_with(path, SqliteOptions::default().with_cache_bytes(bytes));
        }
        match self.graph {
            Some(extractor) => builder.graph(extractor),
            None => builder,
        }
    }
}

impl WorkArgs {
    /// The work. A service is not asked for anything yet.
    ///
    /// # Errors
    /// When a key or the model's name is missing.
    pub(crate) fn work(&self) -> Result<Work> {
        Ok(Work { digest: self.digest.digest()?, graph: self.graph.extractor()?, ..Work::default() })
    }

    /// The work, for a command that can do nothing without any.
    ///
    /// # Errors
    /// When there is none, with what would name one; as [`work`](Self::work).
    pub(crate) fn need(&self) -> Result<Work> {
        if self.digest.digest == ExtractionMethod::None && self.graph.graph == ExtractionMethod::None {
            bail!(
                "what is to do it? --digest rules needs nothing, --digest openai and the like ask a service's chat model; \
                 --graph rules makes a graph"
            );
        }
        self.work()
    }
}
