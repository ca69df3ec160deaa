//! The memories of a scope as a vector store index.

use memory_engine::{Field, Filter, MemoryEngine, RecallHit, RecallQuery, Scope, WriteResult};
use rig_core::{
    Embed,
    embeddings::{Embedding, to_texts},
    vector_store::{
        InsertDocuments, VectorSearchIdResult, VectorSearchRequest, VectorSearchResult, VectorStoreError,
        VectorStoreIndex, request::Filter as RigFilter,
    },
    wasm_compat::WasmCompatSend,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{document, filter};

/// Maximum number of results of a search.
const MAX_SAMPLES: u64 = 1000;

/// rig's [`VectorStoreIndex`] and [`InsertDocuments`] on a memory engine: finds everything within a scope, by keywords,
/// vectors and relations, with the engine's own embedder.
///
/// The score of a result is its relevance: the estimated probability, 0 to 1, that it answers the query. Results are in
/// the order of the engine's ranking, which counts more than relevance.
#[derive(Debug, Clone)]
#[must_use]
pub struct EngineVectorIndex {
    engine: MemoryEngine,
    scope: Scope,
    filter: Option<Filter>,
    only_relevant: bool,
}

impl EngineVectorIndex {
    /// Creates an index of the memories within `scope`. Documents are inserted at this address.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Self {
        Self { engine, scope, filter: None, only_relevant: false }
    }

    /// Finds only memories that match this filter and every filter added before.
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(old) => old.and(filter),
            None => filter,
        });
        self
    }

    /// Finds only documents that were inserted through this type.
    pub fn only_documents(self) -> Self {
        self.with_filter(Filter::Exists(Field::meta(document::DOCUMENT_KEY)))
    }

    /// Finds only memories that are relevant by the engine's threshold, instead of always the best ones. Use it for
    /// the context of an agent.
    pub fn only_relevant(mut self) -> Self {
        self.only_relevant = true;
        self
    }

    /// Stores documents, all or none, and returns the outcome of each, in their order. They need no embeddings. Their
    /// text is what [`Embed`] yields, one text per line.
    ///
    /// A document replaces the stored one with the same field `id`, or else with the same contents. A document that was
    /// forgotten is not stored again: its outcome is `Blocked`.
    ///
    /// # Errors
    /// `DatastoreError` with the error of the engine: for an empty text, one of more than 1 MiB, or a document of more
    /// than 256 KiB of JSON. `JsonError` if a document cannot be serialized.
    pub async fn insert<Doc: Serialize + Embed>(
        &self,
        documents: impl IntoIterator<Item = Doc>,
    ) -> Result<Vec<WriteResult>, VectorStoreError> {
        let mut notes = Vec::new();
        for document in documents {
            let json = serde_json::to_value(&document)?;
            let texts = to_texts(document).map_err(VectorStoreError::datastore)?;
            notes.push(document::to_note(&self.scope, json, texts.join("\n")));
        }
        self.engine.remember_all(&self.scope, notes).await.map_err(VectorStoreError::datastore)
    }

    async fn search(
        &self,
        request: &VectorSearchRequest<RigFilter<Value>>,
    ) -> Result<Vec<RecallHit>, VectorStoreError> {
        if request.samples() > MAX_SAMPLES {
            return Err(VectorStoreError::SamplesOutOfRange { requested: request.samples(), max: MAX_SAMPLES });
        }
        if request.samples() == 0 || request.query().trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut query = RecallQuery::new(request.query()).with_limit(request.samples() as usize);
        let requested = request.filter().map(filter::to_engine_filter).transpose()?;
        if let Some(filter) = self.filter.clone().into_iter().chain(requested).reduce(Filter::and) {
            query = query.with_filter(filter);
        }
        let recall = self.engine.recall(&self.scope, query).await.map_err(VectorStoreError::datastore)?;
        let threshold = request.threshold().unwrap_or(f64::NEG_INFINITY);
        let is_wanted = |hit: &RecallHit| hit.relevance >= threshold && (hit.relevant || !self.only_relevant);
        Ok(recall.hits.into_iter().filter(is_wanted).collect())
    }
}

impl VectorStoreIndex for EngineVectorIndex {
    type Filter = RigFilter<Value>;

    async fn top_n<T: DeserializeOwned + WasmCompatSend>(
        &self,
        req: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchResult<T>>, VectorStoreError> {
        let hits = self.search(&req).await?;
        let result = |hit: &RecallHit| {
            let document = document::from_record(&hit.record)?;
            Ok(VectorSearchResult { score: hit.relevance, id: hit.id().to_string(), document })
        };
        hits.iter().map(result).collect()
    }

    async fn top_n_ids(
        &self,
        req: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchIdResult>, VectorStoreError> {
        let hits = self.search(&req).await?;
        let result = |hit: &RecallHit| VectorSearchIdResult { score: hit.relevance, id: hit.id().to_string() };
        Ok(hits.iter().map(result).collect())
    }
}

impl InsertDocuments for EngineVectorIndex {
    /// As [`insert`](Self::insert). The embeddings are ignored, and their lists can be empty.
    async fn insert_documents<Doc: Serialize + Embed + WasmCompatSend>(
        &self,
        documents: Vec<(Doc, Vec<Embedding>)>,
    ) -> Result<(), VectorStoreError> {
        let documents: Vec<Doc> = documents.into_iter().map(|(document, _)| document).collect();
        self.insert(documents).await?;
        Ok(())
    }
}
