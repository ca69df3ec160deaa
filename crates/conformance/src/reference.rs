//! The reference for searches: in-memory stores with the same entries as the world.

use std::sync::Arc;

use memory_engine_core::{Embedding, FoundRecord, Hit, Record, RecordId, RecordWithTerms, Scope, Terms};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore, MemoryKeywordStore};
use memory_engine_vector_store::{MemoryVectorStore, VectorEntry, VectorQuery, VectorStore};

use crate::{
    World,
    cases::{CaseResult, ensure},
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
        check_hits(&found, &all, query.limit, KEYWORD_TOLERANCE)?;
        let records = self.world.keywords.search_records(scope, query).await?;
        records_equal_hits(self.world, records, &found).await
    }

    /// Checks that the world and the reference return the same hits for a vector query.
    pub(crate) async fn check_vector_search(&self, scope: &Scope, query: &VectorQuery) -> CaseResult {
        let mut unlimited = query.clone();
        unlimited.limit = LARGE_LIMIT;
        let all = self.vectors.search(scope, &unlimited).await?;
        let found = self.world.vectors.search(scope, query).await?;
        check_hits(&found, &all, query.limit, VECTOR_TOLERANCE)?;
        let records = self.world.vectors.search_records(scope, query).await?;
        records_equal_hits(self.world, records, &found).await
    }
}

/// Checks that a search of records returned these hits, each with the stored record and its terms. A store without
/// records returns none.
pub(crate) async fn records_equal_hits(world: &World, found: Option<Vec<FoundRecord>>, hits: &[Hit]) -> CaseResult {
    let Some(found) = found else {
        ensure!(!world.one_database, "the stores share a database, but a search returned no records");
        return Ok(());
    };
    let found_hits: Vec<Hit> = found.iter().map(|found| found.hit).collect();
    ensure!(found_hits == hits, "a search of records returned {found_hits:?} instead of {hits:?}");
    for FoundRecord { hit, record: RecordWithTerms { record, terms } } in found {
        let stored = world.records.get(&record.scope, &[hit.id]).await?;
        ensure!(stored == [Some(record.clone())], "the record of a hit is {record:?} instead of {stored:?}");
        let stored = world.keywords.terms(&record.scope, &[hit.id]).await?;
        ensure!(stored == [terms.clone()], "the terms of a hit are {terms:?} instead of {stored:?}");
    }
    Ok(())
}
