//! The parts of a recall pipeline.

use std::sync::Arc;

use memory_engine_core::Locale;
use memory_engine_indexing::IndexedStore;
use memory_engine_reranker::Reranker;
use memory_engine_scene::ScenePolicy;
use memory_engine_synonyms::SharedThesaurus;

use crate::{options::RecallOptions, rewrite::Rewrite};

/// Everything that a recall needs.
#[derive(Debug)]
pub struct RecallParts {
    /// Records and indexes.
    pub store: Arc<IndexedStore>,
    /// True if the graph retriever takes part.
    pub uses_graph: bool,
    /// Judges the best candidates, if set.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Rewrites a query that finds nothing, with the dialogue before it. Used if the
    /// [`Enhancement`](crate::Enhancement) of the recall has no rewrite.
    pub rewrite: Option<Rewrite>,
    /// Options of queries that bring none of their own.
    pub options: RecallOptions,
    /// The scenes that are visible from each scene.
    pub scene_policy: ScenePolicy,
    /// Synonyms of query terms.
    pub thesaurus: Arc<SharedThesaurus>,
    /// The time zone of queries that set none, and the language of texts around memories.
    pub locale: Locale,
}
