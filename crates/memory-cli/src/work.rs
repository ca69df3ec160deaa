//! The work of the background: enrichment and graph.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Builder, Database, EnrichmentOptions, graph::GraphExtractor, sqlite::SqliteOptions};

use crate::{digest::DigestArgs, graph::GraphArgs, method::Method};

/// What is to be made of turns beside indexing them.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) digest: DigestArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

/// What is made of turns beside indexing them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    pub(crate) digest: EnrichmentOptions,
    pub(crate) graph: Option<Arc<dyn GraphExtractor>>,
    /// How much of a file is kept in memory meanwhile, in bytes; as usual, unless set.
    pub(crate) page_cache: Option<usize>,
}

impl From<EnrichmentOptions> for Work {
    fn from(digest: EnrichmentOptions) -> Self {
        Self { digest, ..Self::default() }
    }
}

impl Work {
    /// Sets the work in a builder for this database.
    pub(crate) fn equip(self, builder: Builder, database: &Database) -> Builder {
        let mut builder = builder.enrichment(self.digest);
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
        Ok(Work { digest: self.digest.digest()?, graph: self.graph.extractor()?, page_cache: None })
    }

    /// The work, for a command that can do nothing without any.
    ///
    /// # Errors
    /// When there is none, with what would name one; as [`work`](Self::work).
    pub(crate) fn need(&self) -> Result<Work> {
        if self.digest.digest == Method::None && self.graph.graph == Method::None {
            bail!(
                "what is to do it? --digest rules needs nothing, --digest openai and the like ask a service's chat model; \
                 --graph rules makes a graph"
            );
        }
        self.work()
    }
}
