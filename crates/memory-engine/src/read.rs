//! Verbs that read: recall and look-ups.

use memory_engine_core::{Page, Record, RecordId, Result, ScanQuery, Scope, Stats};
use memory_engine_recall::{Enhanced, Enhancement, Explanation, ReadScope, Recall, RecallQuery};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Returns the memories most relevant to the query, visible from `scope`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter. If no retriever answers: `Timeout` if one of them was late,
    /// otherwise the error of one of them. If only one is late or fails, [`Recall::degraded`] names it.
    pub async fn recall(&self, scope: &Scope, query: impl Into<RecallQuery>) -> Result<Recall> {
        self.recall_pipeline().recall(scope, &query.into()).await
    }

    /// As [`recall`](Self::recall). If nothing [relevant](Recall::relevant) is found, asks again with the dialogue before
    /// the query, and then as a model rewrites it. The result names the text that found it.
    ///
    /// # Errors
    /// As [`recall`](Self::recall). A model that fails or breaks the contract is named in [`Recall::degraded`].
    pub async fn recall_enhanced(
        &self,
        scope: &Scope,
        query: impl Into<RecallQuery>,
        enhancement: &Enhancement,
    ) -> Result<Enhanced> {
        self.recall_pipeline().recall_enhanced(scope, &query.into(), enhancement).await
    }

    /// Explains the place of a record in the result of a query, or its absence.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, RecallQuery, Scope, Turn, recall::Verdict};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let dragon = memory.remember(&lin, Turn::user("The dragon sleeps").with_scene("plot")).await?;
    ///
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("plot");
    /// let why = memory.explain(&lin, asked, dragon).await?;
    /// assert_eq!(why.verdict, Verdict::Hit { place: 1 });
    /// let asked = RecallQuery::new("Who sleeps?").in_scene("meta");
    /// let why = memory.explain(&lin, asked, dragon).await?;
    /// println!("{}", why.verdict);
    /// assert!(why.hit.is_none());
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`recall`](Self::recall).
    pub async fn explain(&self, scope: &Scope, query: impl Into<RecallQuery>, id: RecordId) -> Result<Explanation> {
        self.recall_pipeline().explain(scope, &query.into(), id).await
    }

    /// Returns the record with this id if it is within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        self.indexed_store().get(scope, id).await
    }

    /// Returns the records with these ids, in the same order; `None` for an id that is not within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.indexed_store().get_all(scope, ids).await
    }

    /// Returns a page of records in order of time.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter; the store's error.
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.indexed_store().scan(scope, query).await
    }

    /// Returns a page of records as a branch sees them; for any other scope the same as [`scan`](Self::scan).
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub async fn timeline(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        ReadScope::resolve(self.indexed_store(), scope).await?.scan(self.indexed_store(), query).await
    }

    /// Counts records and queued jobs within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.record_store().stats(scope).await
    }
}
