//! The keyword store contract: each call runs on a connection of the store.

use async_trait::async_trait;
use memory_engine_core::{FoundRecord, Hit, Index, Job, PackedTerms, RecordId, RecordWithTerms, Result, Scope};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_sql::request;

use crate::{
    database::{
        index_metadata,
        transaction::{with_reader, with_transaction},
    },
    keywords::{keyword_rows, keyword_search},
    rows::scopes::CoveredScope,
    store::PostgresStore,
};

#[async_trait]
impl KeywordStore for PostgresStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        with_transaction!(self, "keyword upsert", |connection| {
            let made_by = index_metadata::read(connection, Job::Keywords.as_str()).await?;
            self.metadata().check(Index::Keywords, made_by.as_deref(), "keyword upsert")?;
            keyword_rows::upsert(connection, entries).await
        })
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        with_transaction!(self, "keyword delete", |connection| keyword_rows::delete(connection, &covered, ids).await)
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        request::check_filter(query.filter.as_ref())?;
        with_reader!(self, "keyword search", |connection| {
            keyword_search::search(connection, self.keyword_index(), scope, query).await
        })
    }

    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        request::check_filter(query.filter.as_ref())?;
        with_reader!(self, "keyword search", |connection| {
            keyword_search::search_records(connection, self.keyword_index(), scope, query).await
        })
        .map(Some)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        with_reader!(self, "keyword terms", |connection| keyword_rows::terms(connection, scope, ids).await)
    }

    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        with_reader!(self, "get", |connection| keyword_rows::records_with_terms(connection, scope, ids).await).map(Some)
    }
}
