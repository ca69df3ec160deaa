//! Extracts entities and relations from records and stores them.

use std::{collections::BTreeSet, sync::Arc};

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Record, RecordId, Result, ScanQuery, Scope, State, phrases::fold,
};
use memory_engine_graph::{EntityKind, GraphEntry, GraphExtractor, GraphStoreExt, names_in};
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
    /// Number of records whose extraction was stored.
    pub records: u64,
    /// Records whose extraction failed, with the error. Keyword and vector search still find them.
    pub failed: Vec<(RecordId, Error)>,
}

impl GraphIndexer {
    pub(crate) fn new(store: Arc<IndexedStore>, extractor: Option<Arc<dyn GraphExtractor>>) -> Self {
        Self { store, extractor }
    }

    /// Returns the extractor, if the engine has one.
    pub fn extractor(&self) -> Option<&Arc<dyn GraphExtractor>> {
        self.extractor.as_ref()
    }

    /// Extracts from records within `scope`, and replaces their former extractions. Skips records that are not active.
    /// A name that an earlier record of the same session introduced is known to the extractor.
    /// A failed extraction is listed in the report and does not stop the others.
    ///
    /// # Errors
    /// `Unsupported` without an extractor; `Unauthorized` for a record outside `scope`; the store's error.
    pub async fn index(&self, scope: &Scope, records: &[Record]) -> Result<GraphIndexReport> {
        let missing = || Error::new(ErrorKind::Unsupported, "graph", "the engine was built without `Builder::graph`");
        let extractor = self.extractor.as_ref().ok_or_else(missing)?;
        records.iter().try_for_each(|record| scope.authorize("graph", &record.scope))?;
        let mut report = GraphIndexReport::default();
        let mut entries = Vec::new();
        for record in records.iter().filter(|record| record.state == State::Active) {
            let known = self.with_known_names(record, &entries).await?;
            match extractor.extract(&known).await {
                Ok(extraction) => entries.push(GraphEntry::new(record.clone(), extraction)),
                Err(error) => report.failed.push((record.id, error)),
            }
        }
        self.store.graph().upsert(scope, &entries).await?;
        report.records = entries.len() as u64;
        self.remove_deleted(scope, &entries).await?;
        Ok(report)
    }

    /// Returns a record with the names in its text that earlier records of its session introduced: names of people,
    /// places and organisations in the graph, and in extractions that are not stored yet.
    async fn with_known_names(&self, record: &Record, extracted: &[GraphEntry]) -> Result<Record> {
        let mut known = record.clone();
        let names = names_in(&record.text);
        if record.scope.session().is_none() || names.is_empty() {
            return Ok(known);
        }
        let is_introduced = |kind: EntityKind| matches!(kind, EntityKind::Person | EntityKind::Place | EntityKind::Org);
        let texts: Vec<&str> = names.iter().map(String::as_str).collect();
        let stored = self.store.graph().entities(&record.scope, &texts).await?;
        let stored = stored.entities.into_iter().filter(|entity| is_introduced(entity.kind));
        let mut introduced: BTreeSet<String> =
            stored.flat_map(|entity| entity.aliases.into_iter().chain([entity.name])).map(|name| fold(&name)).collect();
        for entry in extracted.iter().filter(|entry| entry.record.scope == record.scope) {
            let mentions = entry.extraction.entities.iter().filter(|mention| is_introduced(mention.kind));
            introduced.extend(mentions.map(|mention| fold(&mention.name)));
        }
        known.entities.extend(names.into_iter().filter(|name| introduced.contains(&fold(name))));
        Ok(known)
    }

    /// Removes the extractions of records that have been deleted meanwhile.
    async fn remove_deleted(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        let ids: Vec<RecordId> = entries.iter().map(|entry| entry.record.id).collect();
        let records = self.store.get_all(scope, &ids).await?;
        let is_deleted = |record: &Option<Record>| record.as_ref().is_none_or(|record| record.state != State::Active);
        let deleted = ids.into_iter().zip(&records).filter(|(_, record)| is_deleted(record));
        let deleted: Vec<RecordId> = deleted.map(|(id, _)| id).collect();
        if deleted.is_empty() { Ok(()) } else { self.store.graph().delete(scope, &deleted).await.map(drop) }
    }

    /// Extracts from every active record within `scope`, oldest first. After each page, calls `progress` with the
    /// number of records processed so far.
    ///
    /// # Errors
    /// As [`index`](Self::index). What was stored before stays.
    pub async fn rebuild(&self, scope: &Scope, mut progress: impl FnMut(u64)) -> Result<GraphIndexReport> {
        let active = Filter::eq(Field::State, State::Active.as_str());
        let mut pages = self.store.pages(scope, ScanQuery::oldest(REBUILD_PAGE_ROWS).with_filter(active));
        let mut total = GraphIndexReport::default();
        while let Some(page) = pages.next().await? {
            let extracted = self.index(scope, &page.records).await?;
            total.records += extracted.records;
            total.failed.extend(extracted.failed);
            progress(total.records + total.failed.len() as u64);
        }
        Ok(total)
    }
}
