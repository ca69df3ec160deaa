//! The reference for searches: in-memory stores with the same entries as the world.

use std::sync::Arc;

use memory_engine_core::{Embedding, Record, RecordId, Scope, Terms};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorEntry, VectorQuery, VectorStore};

use crate::{
    World,
    cases::CaseResult,
    fixtures::LARGE_LIMIT,
    hits::{KEYWORD_TOLERANCE, VECTOR_TOLERANCE, check_hits},
    space,
};

/// A world, and in-memory stores with the same entries.
#[derive(Debug)]
pub(crate) struct ReferenceStores<'a> {
    world: &'a World,
    keywords: MemoryKeywordStore,
    vectors: MemoryVectorStore,
}

impl<'a> ReferenceStores<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        Self { world, keywords: MemoryKeywordStore::new(), vectors: MemoryVectorStore::new(space()) }
    }

    /// Indexes a stored record under these terms, in the world and in the reference.
    pub(crate) async fn index(&self, record: &Record, terms: Terms) {
        self.world.index(record, terms.clone()).await;
        let entry = KeywordEntry { record: Arc::new(record.clone()), terms };
        self.keywords.upsert(&record.scope, &[entry]).await.unwrap();
    }

    /// Indexes a stored record under this vector, in the world and in the reference.
    pub(crate) async fn embed(&self, record: &Record, embedding: Embedding) {
        self.world.embed(record, embedding.clone()).await;
        let entry = VectorEntry::new(Arc::new(record.clone()), embedding);
        self.vectors.upsert(&record.scope, &[entry]).await.unwrap();
    }

    /// Deletes records from the world and from the reference.
    pub(crate) async fn forget(&self, scope: &Scope, ids: &[RecordId]) {
        self.world.forget(scope, ids).await;
        self.keywords.delete(scope, ids).await.unwrap();
        self.vectors.delete(scope, ids).await.unwrap();
    }

    /// Checks that the world and the reference return the same hits for a keyword query.
    pub(crate) async fn check_keyword_search(&self, scope: &Scope, query: &KeywordQuery) -> CaseResult {
        let mut unlimited = query.clone();
        unlimited.limit = LARGE_LIMIT;
        let all = self.keywords.search(scope, &unlimited).await?;
        let found = self.world.keywords.search(scope, query).await?;
        check_hits(&found, &all, query.limit, KEYWORD_TOLERANCE)
    }

    /// Checks that the world and the reference return the same hits for a vector query.
    pub(crate) async fn check_vector_search(&self, scope: &Scope, query: &VectorQuery) -> CaseResult {
        let mut unlimited = query.clone();
        unlimited.limit = LARGE_LIMIT;
        let all = self.vectors.search(scope, &unlimited).await?;
        let found = self.world.vectors.search(scope, query).await?;
        check_hits(&found, &all, query.limit, VECTOR_TOLERANCE)
    }
}
