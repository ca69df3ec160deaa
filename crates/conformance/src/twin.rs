//! The yardstick for searches: the in-memory stores, given the same entries as the world.

use std::sync::Arc;

use memory_engine_core::{Embedding, Record, RecordId, Scope, Terms};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorEntry, VectorQuery, VectorStore};

use crate::{
    World,
    cases::Verdict,
    given::LARGE_LIMIT,
    hits::{KEYWORD_TOLERANCE, VECTOR_TOLERANCE, same_hits},
    space,
};

/// A world together with the in-memory stores.
#[derive(Debug)]
pub(crate) struct Twin<'a> {
    world: &'a World,
    keywords: MemoryKeywordStore,
    vectors: MemoryVectorStore,
}

impl<'a> Twin<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        Self { world, keywords: MemoryKeywordStore::new(), vectors: MemoryVectorStore::new(space()) }
    }

    /// Puts terms under a record that is stored already, on both sides.
    pub(crate) async fn index(&self, record: &Record, terms: Terms) {
        self.world.index(record, terms.clone()).await;
        let entry = KeywordEntry { record: Arc::new(record.clone()), terms };
        self.keywords.upsert(&record.scope, &[entry]).await.unwrap();
    }

    /// Puts a vector under a record that is stored already, on both sides.
    pub(crate) async fn embed(&self, record: &Record, embedding: Embedding) {
        self.world.embed(record, embedding.clone()).await;
        let entry = VectorEntry { record: Arc::new(record.clone()), embedding };
        self.vectors.upsert(&record.scope, &[entry]).await.unwrap();
    }

    /// Deletes on both sides.
    pub(crate) async fn forget(&self, scope: &Scope, ids: &[RecordId]) {
        self.world.forget(scope, ids).await;
        self.keywords.delete(scope, ids).await.unwrap();
        self.vectors.delete(scope, ids).await.unwrap();
    }

    /// Checks that both sides return the same hits for a keyword query.
    pub(crate) async fn same_words(&self, scope: &Scope, query: &KeywordQuery) -> Verdict {
        let mut everything = query.clone();
        everything.limit = LARGE_LIMIT;
        let all = self.keywords.search(scope, &everything).await?;
        let found = self.world.keywords.search(scope, query).await?;
        same_hits(&found, &all, query.limit, KEYWORD_TOLERANCE)
    }

    /// Checks that both sides return the same hits for a vector.
    pub(crate) async fn same_nearest(&self, scope: &Scope, query: &VectorQuery) -> Verdict {
        let mut everything = query.clone();
        everything.limit = LARGE_LIMIT;
        let all = self.vectors.search(scope, &everything).await?;
        let found = self.world.vectors.search(scope, query).await?;
        same_hits(&found, &all, query.limit, VECTOR_TOLERANCE)
    }
}
