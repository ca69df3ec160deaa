//! Reading every record of a scope as a stream.

use futures_util::{
    Stream, TryStreamExt,
    stream::{self, BoxStream},
};
use memory_engine_core::{Cursor, Filter, Order, Page, Record, Result, ScanQuery, Scope, Timestamp};

use crate::engine::MemoryEngine;

/// Number of records read at a time.
const PAGE_ROWS: usize = 500;

/// A query that reads the records of a scope as a stream. [`MemoryEngine::records`] creates one.
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until its stream is read"]
pub struct RecordQuery {
    engine: MemoryEngine,
    scope: Scope,
    query: ScanQuery,
    as_of: Option<Timestamp>,
}

impl MemoryEngine {
    /// Reads the records within `scope` in order of time, page by page. [`scan`](Self::scan) returns a single page,
    /// for web pages with a cursor.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use memory_engine::{Field, Filter, MemoryEngine, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember_all(&lin, ["one", "two", "three"]).await?;
    ///
    /// let mut all = memory.records(&lin).filter(Filter::eq(Field::Role, "user")).stream();
    /// let mut count = 0;
    /// while let Some(record) = all.try_next().await? {
    ///     println!("{}", record.text);
    ///     count += 1;
    /// }
    /// assert_eq!(count, 3);
    /// assert_eq!(memory.records(&lin).newest_first().collect().await?.len(), 3);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub fn records(&self, scope: &Scope) -> RecordQuery {
        RecordQuery { engine: self.clone(), scope: scope.clone(), query: ScanQuery::oldest(PAGE_ROWS), as_of: None }
    }
}

impl RecordQuery {
    /// Restricts to records that match this filter and every filter added before.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.query.filter = Some(match self.query.filter.take() {
            Some(old) => old.and(filter),
            None => filter,
        });
        self
    }

    /// Reads the memories that were current at this time, as they were then: see
    /// [`Snapshot`](crate::history::Snapshot). Default: all records, as they are.
    pub fn as_of(mut self, time: impl Into<Timestamp>) -> Self {
        self.as_of = Some(time.into());
        self
    }

    /// Reads the newest record first. Default: the oldest first.
    pub fn newest_first(mut self) -> Self {
        self.query.order = Order::NewestFirst;
        self
    }

    /// Starts after this cursor, from a [`Page`] or [`Cursor::at`]. Default: at the beginning.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.query.after = Some(cursor);
        self
    }

    /// Sets the number of records read at a time. Default: 500.
    pub fn page_rows(mut self, rows: usize) -> Self {
        self.query.limit = rows.max(1);
        self
    }

    /// Returns the records as a stream. It reads the next page on demand, so that records written meanwhile are
    /// included if they come later in the order.
    ///
    /// # Errors
    /// The stream yields `InvalidInput` for an invalid filter, or the store's error, and ends.
    pub fn stream(self) -> BoxStream<'static, Result<Record>> {
        Box::pin(self.pages().map_ok(|page| stream::iter(page.records.into_iter().map(Ok))).try_flatten())
    }

    /// Returns all records at once.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter; the store's error.
    pub async fn collect(self) -> Result<Vec<Record>> {
        self.stream().try_collect().await
    }

    fn pages(self) -> impl Stream<Item = Result<Page>> + Send {
        let Self { engine, scope, query, as_of } = self;
        stream::try_unfold(Some(query), move |query| {
            let engine = engine.clone();
            let scope = scope.clone();
            async move {
                let Some(query) = query else { return Ok(None) };
                let page = match as_of {
                    Some(time) => engine.history().as_of(time).scan(&scope, &query).await?,
                    None => engine.scan(&scope, &query).await?,
                };
                let next = page.next.map(|cursor| query.with_after(Some(cursor)));
                Ok(Some((page, next)))
            }
        })
    }
}
