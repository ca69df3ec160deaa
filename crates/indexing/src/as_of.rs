//! Reads records as they were at a point in time.

use memory_engine_core::{
    Cursor, Filter, Page, Record, RecordId, Result, ScanQuery, Scope, Timestamp,
    history::{has_changed, recorded_by},
};

use crate::store::IndexedStore;

/// Minimum and maximum number of rows that are read at a time. Some of them may not be visible at the time.
const PAGE_ROWS: (usize, usize) = (50, 500);

impl IndexedStore {
    /// Returns the records with these ids as they were at a time, in the same order: see [`Record::as_of`]. `None` for
    /// a record that was not visible then, has been deleted since, or has expired.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_as_of(&self, scope: &Scope, ids: &[RecordId], at: Timestamp) -> Result<Vec<Option<Record>>> {
        let records = self.get_unexpired(scope, ids).await?;
        Ok(records.into_iter().map(|record| record.and_then(|record| visible_at(&record, at))).collect())
    }

    /// Returns a page of the records that were visible at a time, as they were then: see [`Record::as_of`]. The filter
    /// of the query applies to the records as they were.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter; the store's error.
    pub async fn scan_as_of(&self, scope: &Scope, query: &ScanQuery, at: Timestamp) -> Result<Page> {
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let total = if query.counted { Some(self.count_as_of(scope, query, at).await?) } else { None };
        if query.limit == 0 {
            return Ok(Page::default().with_total(total));
        }
        let mut records = Vec::new();
        let mut to_skip = query.skip;
        let mut rows = rows_query(query, at);
        loop {
            let page = self.scan_unexpired(scope, &rows).await?;
            for record in page.records.iter().filter_map(|record| matching_at(query, record, at)) {
                if to_skip > 0 {
                    to_skip -= 1;
                } else if records.len() < query.limit {
                    records.push(record);
                } else {
                    // A further record matches, so there is a next page.
                    let next = records.last().map(Cursor::at);
                    return Ok(Page::new(records, next).with_total(total));
                }
            }
            rows.after = page.next;
            if rows.after.is_none() {
                break;
            }
        }
        Ok(Page::new(records, None).with_total(total))
    }

    /// Counts the records that match a query, on all pages.
    async fn count_as_of(&self, scope: &Scope, query: &ScanQuery, at: Timestamp) -> Result<u64> {
        let mut rows = rows_query(query, at).with_after(None);
        rows.limit = PAGE_ROWS.1;
        let mut total = 0;
        loop {
            let page = self.scan_unexpired(scope, &rows).await?;
            total += page.records.iter().filter_map(|record| matching_at(query, record, at)).count() as u64;
            rows.after = page.next;
            if rows.after.is_none() {
                return Ok(total);
            }
        }
    }
}

/// Returns a record as it was at a time, if it was visible then and has not expired by then.
fn visible_at(record: &Record, at: Timestamp) -> Option<Record> {
    record.as_of(at).filter(|record| !record.is_expired(at))
}

/// Returns a record as it was at a time, if it was visible then and matched the filter of the query.
fn matching_at(query: &ScanQuery, record: &Record, at: Timestamp) -> Option<Record> {
    visible_at(record, at).filter(|record| query.filter.as_ref().is_none_or(|filter| filter.matches(record)))
}

/// Returns the query for the stored records that may match at a time: those that match now, and those that may have
/// been different then.
fn rows_query(query: &ScanQuery, at: Timestamp) -> ScanQuery {
    let mut rows = query.clone();
    rows.counted = false;
    rows.skip = 0;
    rows.limit = query.limit.saturating_add(query.skip).saturating_add(1).clamp(PAGE_ROWS.0, PAGE_ROWS.1);
    rows.filter = Some(candidates_at(query.filter.clone(), at));
    rows
}

/// Returns a filter for the stored records that may have matched `filter` at a time. Without the filter if both
/// together are too large for one.
fn candidates_at(filter: Option<Filter>, at: Timestamp) -> Filter {
    let Some(filter) = filter else { return recorded_by(at) };
    let candidates = recorded_by(at).and(filter.or(has_changed()));
    if candidates.validate().is_ok() { candidates } else { recorded_by(at) }
}
