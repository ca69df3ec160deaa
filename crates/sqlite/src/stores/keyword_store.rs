//! The keyword store contract: each call runs on a thread of the store.

use async_trait::async_trait;
use memory_engine_core::{FoundRecord, Hit, Index, PackedTerms, RecordId, RecordWithTerms, Result, Scope};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_sql::request;

use crate::{
    database::index_metadata,
    keywords::keyword_rows,
    records::found::{self, HitReader},
    store::{SqliteStore, writer::Residue},
    stores::removal_residue,
};

impl SqliteStore {
    /// Searches the keywords, and reads what `read` reads of the hits, on one thread in one transaction.
    async fn search_keywords<T: Send + 'static>(
        &self,
        scope: &Scope,
        query: &KeywordQuery,
        read: HitReader<T>,
    ) -> Result<Vec<T>> {
        request::check_filter(query.filter.as_ref())?;
        let scope = scope.clone();
        let query = query.clone();
        let metadata = self.index_metadata();
        let caches = self.caches();
        let search = self.read("keyword search", move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "keyword search")?;
            let found = caches.keywords.search(connection, &caches.addresses, &caches.filters, &scope, &query)?;
            read(connection, &caches.addresses, &scope, &found)
        });
        let hits = search.await;
        self.request_cache_flush();
        hits
    }
}

#[async_trait]
impl KeywordStore for SqliteStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        let entries = entries.to_vec();
        let metadata = self.index_metadata();
        let residue = |_: &()| Residue::None;
        self.write("keyword upsert", residue, move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "keyword upsert")?;
            keyword_rows::upsert(connection, &entries)
        })
        .await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let ids = ids.to_vec();
        self.write_covered("keyword delete", removal_residue, scope, move |connection, covered| {
            keyword_rows::delete(connection, covered, &ids)
        })
        .await
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        self.search_keywords(scope, query, found::keep_hits).await
    }

    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        self.search_keywords(scope, query, found::read_records).await.map(Some)
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("keyword terms", move |connection| keyword_rows::terms(connection, &addresses, &scope, &ids)).await
    }

    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        let scope = scope.clone();
        let ids = ids.to_vec();
        let addresses = self.caches().addresses;
        self.read("get", move |connection| found::read_by_ids(connection, &addresses, &scope, &ids)).await.map(Some)
    }

    async fn warm_up(&self) -> Result<()> {
        let metadata = self.index_metadata();
        let caches = self.caches();
        let load = self.read("warm up", move |connection| {
            index_metadata::check(connection, &metadata, Index::Keywords, "warm up")?;
            caches.keywords.load_tenants(connection)
        });
        load.await?;
        self.request_cache_flush();
        Ok(())
    }
}
