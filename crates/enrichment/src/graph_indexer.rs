//! Extraction of entities and relations from records.

use std::sync::Arc;

use memory_engine_core::{Error, ErrorKind, Field, Filter, Record, RecordId, Result, ScanQuery, Scope, State};
use memory_engine_graph::{GraphEntry, GraphExtractor};
use memory_engine_indexing::IndexedStore;

const REBUILD_PAGE_ROWS: usize = 200;

/// Extracts entities and relations from records and stores them.
#[derive(Debug, Clone)]
pub struct GraphIndexer {
    store: Arc<IndexedStore>,
    extractor: Option<Arc<dyn GraphExtractor>>,
}

/// The outcome of an extraction.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct GraphIndexReport {
    /// Number of records read.
    pub records: u64,
    /// Records that could not be read, with the reason. Each is still found by its words and its vector.
    pub failed: Vec<(RecordId, Error)>,
}

impl GraphIndexer {
    pub(crate) fn new(store: Arc<IndexedStore>, extractor: Option<Arc<dyn GraphExtractor>>) -> Self {
        Self { store, extractor }
    }

    /// The extractor, if the engine has one.
    pub fn extractor(&self) -> Option<&Arc<dyn GraphExtractor>> {
        self.extractor.as_ref()
    }

    /// Extracts from records within `scope` as they are, in place of what was extracted from them before. Records that
    /// are not active are skipped. One that cannot be read is named in the outcome, and the others are read.
    ///
    /// # Errors
    /// `Unsupported` without an extractor; `Unauthorized` for a record outside `scope`; the store's error.
    pub async fn index(&self, scope: &Scope, records: &[Record]) -> Result<GraphIndexReport> {
        let missing = || Error::new(ErrorKind::Unsupported, "graph", "the engine was built without `Builder::graph`");
        let extractor = self.extractor.as_ref().ok_or_else(missing)?;
        records.iter().try_for_each(|record| scope.authorize("graph", &record.scope))?;
        let mut extracted = GraphIndexReport::default();
        let mut entries = Vec::new();
        for record in records.iter().filter(|record| record.state == State::Active) {
            match extractor.extract(record).await {
                Ok(extraction) => entries.push(GraphEntry::new(record.clone(), extraction)),
                Err(error) => extracted.failed.push((record.id, error)),
            }
        }
        self.store.graph().upsert(scope, &entries).await?;
        extracted.records = entries.len() as u64;
        self.remove_deleted(scope, &entries).await?;
        Ok(extracted)
    }

    /// Removes what was extracted from records that have been deleted meanwhile.
    async fn remove_deleted(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        let ids: Vec<RecordId> = entries.iter().map(|entry| entry.record.id).collect();
        let records = self.store.get_all(scope, &ids).await?;
        let is_gone = |record: &Option<Record>| record.as_ref().is_none_or(|record| record.state != State::Active);
        let gone = ids.into_iter().zip(&records).filter(|(_, record)| is_gone(record));
        let gone: Vec<RecordId> = gone.map(|(id, _)| id).collect();
        if gone.is_empty() { Ok(()) } else { self.store.graph().delete(scope, &gone).await.map(drop) }
    }

    /// Extracts from every active record within `scope`, oldest first. After each page, `progress` gets the number of
    /// records read so far.
    ///
    /// # Errors
    /// As [`index`](Self::index). What was read before stays.
    pub async fn rebuild(&self, scope: &Scope, mut progress: impl FnMut(u64)) -> Result<GraphIndexReport> {
        let active = Filter::eq(Field::State, State::Active.as_str());
        let mut query = ScanQuery::oldest(REBUILD_PAGE_ROWS).with_filter(active);
        let mut total = GraphIndexReport::default();
        loop {
            let page = self.store.scan(scope, &query).await?;
            let extracted = self.index(scope, &page.records).await?;
            total.records += extracted.records;
            total.failed.extend(extracted.failed);
            progress(total.records + total.failed.len() as u64);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(total);
            }
        }
    }
}
