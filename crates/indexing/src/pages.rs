//! Scans page by page.

use memory_engine_core::{DamagedRecord, Page, Result, ScanQuery, Scope};

use crate::store::IndexedStore;

/// Number of records of a page in which damaged ones are sought.
const DAMAGED_PAGE_ROWS: usize = 500;

/// The pages of a scan, each read on demand. [`IndexedStore::pages`] returns it.
#[derive(Debug)]
pub struct Pages<'s> {
    store: &'s IndexedStore,
    scope: &'s Scope,
    /// The query for the next page; `None` after the last one.
    query: Option<ScanQuery>,
}

impl Pages<'_> {
    /// Returns the next page, also if it is empty; `None` after the last one.
    ///
    /// # Errors
    /// The store's error.
    pub async fn next(&mut self) -> Result<Option<Page>> {
        let Some(query) = self.query.take() else { return Ok(None) };
        let page = self.store.scan(self.scope, &query).await?;
        self.query = page.next.map(|next| query.with_after(Some(next)));
        Ok(Some(page))
    }
}

impl IndexedStore {
    /// Returns the pages of a scan in the order of their positions. What is written meanwhile is included if it comes
    /// later in the order.
    pub fn pages<'s>(&'s self, scope: &'s Scope, query: ScanQuery) -> Pages<'s> {
        Pages { store: self, scope, query: Some(query) }
    }

    /// Returns the records within `scope` that cannot be read, each with the values of its row by column. Reads all
    /// records.
    ///
    /// # Errors
    /// The store's error.
    pub async fn damaged_records(&self, scope: &Scope) -> Result<Vec<(DamagedRecord, Vec<serde_json::Value>)>> {
        let mut damaged = Vec::new();
        let mut pages = self.pages(scope, ScanQuery::oldest(DAMAGED_PAGE_ROWS));
        while let Some(page) = pages.next().await? {
            for record in page.damaged {
                let rows = self.records().raw_rows(scope, &[record.id]).await?;
                damaged.push((record, rows));
            }
        }
        Ok(damaged)
    }
}
