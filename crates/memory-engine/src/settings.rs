//! The settings of an engine.

use std::sync::Arc;

use jiff::tz::TimeZone;
use memory_engine_context::MemoryBlock;
use memory_engine_core::{Clock, Language, ReviewPolicy};
use memory_engine_embedder::Embedder;
use memory_engine_recall::RecallOptions;
#[cfg(feature = "llm")]
use memory_engine_recall::Rewrite;
use memory_engine_reranker::Reranker;
use memory_engine_scene::ScenePolicy;
use memory_engine_synonyms::SharedThesaurus;

use crate::engine::MemoryEngine;

/// The settings of an engine, as the [`Builder`](crate::Builder) has set them. [`MemoryEngine::settings`] returns it.
/// It borrows the engine, so that its references live as long as the engine.
///
/// ```
/// use memory_engine::{Language, MemoryEngine};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().language(Language::English).build().await?;
/// let settings = memory.settings();
/// assert_eq!(settings.language(), Some(Language::English));
/// println!("{}: vectors of {}", settings.clock().now(), settings.embedder().space());
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Settings<'e> {
    pub(crate) engine: &'e MemoryEngine,
}

impl<'e> Settings<'e> {
    /// Returns the embedder whose vectors are searched. An embedder that replaces another one is returned after the
    /// cut-over.
    pub fn embedder(&self) -> &'e Arc<dyn Embedder> {
        &self.engine.indexed_store().embedding().serving().embedder
    }

    /// Returns the reranker, if there is one.
    pub fn reranker(&self) -> Option<&'e Arc<dyn Reranker>> {
        self.engine.recall_pipeline().parts().reranker.as_ref()
    }

    /// Returns the synonyms of query terms. A change to their store takes effect within seconds, and at once after
    /// [`refresh`](SharedThesaurus::refresh).
    pub fn synonyms(&self) -> &'e SharedThesaurus {
        &self.engine.recall_pipeline().parts().thesaurus
    }

    /// Returns the clock of all timestamps.
    pub fn clock(&self) -> &'e Arc<dyn Clock> {
        self.engine.indexed_store().clock()
    }

    /// Returns the time zone of days and dates, which a query or an option may override. Default: UTC.
    pub fn zone(&self) -> &'e TimeZone {
        &self.engine.recall_pipeline().parts().locale.zone
    }

    /// Returns the language of summaries, profiles, injections and prompts; `None` for the language of each text.
    pub fn language(&self) -> Option<Language> {
        self.engine.recall_pipeline().parts().locale.language
    }

    /// Returns a text block for memories with this [zone](Self::zone) and [language](Self::language).
    pub fn memory_block(&self) -> MemoryBlock {
        self.engine.recall_pipeline().memory_block()
    }

    /// Returns the options of recalls whose query has none of its own.
    pub fn recall_options(&self) -> &'e RecallOptions {
        &self.engine.recall_pipeline().parts().options
    }

    /// Returns the rewrite of queries that find nothing. Default: none.
    #[cfg(feature = "llm")]
    pub fn rewrite(&self) -> Option<&'e Rewrite> {
        self.engine.recall_pipeline().parts().rewrite.as_ref()
    }

    /// Returns the mode of each source of memories. [`Builder::review`](crate::Builder::review) sets it.
    pub fn review_policy(&self) -> &'e ReviewPolicy {
        self.engine.curation().review_policy()
    }

    /// Returns the scenes that are visible from each scene.
    pub fn scene_policy(&self) -> &'e ScenePolicy {
        &self.engine.recall_pipeline().parts().scene_policy
    }
}
