//! Verbs that read: recall and look-ups.

use memory_engine_core::{Page, Record, RecordId, Result, ScanQuery, Scope, Stats};
use memory_engine_indexing::verb;
use memory_engine_recall::{ContextRequest, EnhancedRecall, Enhancement, Recall, RecallQuery};
use tracing::{Span, field::Empty};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Returns the memories most relevant to the query, visible from `scope`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter. If no retriever answers: `Timeout` if one of them was
    /// late, otherwise the error of one of them. If only one is late or fails, [`Recall::degraded`] names it.
    pub async fn recall(&self, scope: &Scope, query: impl Into<RecallQuery>) -> Result<Recall> {
        self.recall_pipeline().recall(scope, &query.into()).await
    }

    /// As [`recall`](Self::recall). If nothing [relevant](Recall::relevant) is found, asks again with the dialogue
    /// before the query, and then as a model rewrites it: that of the enhancement, else that of the engine. The result
    /// names the text that found it.
    ///
    /// # Errors
    /// As [`recall`](Self::recall). A model that fails or breaks the contract is named in [`Recall::degraded`].
    pub async fn recall_enhanced(
        &self,
        scope: &Scope,
        query: impl Into<RecallQuery>,
        enhancement: &Enhancement,
    ) -> Result<EnhancedRecall> {
        self.recall_pipeline().recall_enhanced(scope, &query.into(), enhancement).await
    }

    /// Returns the memories that are relevant to the query as text for a prompt, within a limit of tokens. Pinned
    /// memories come first, up to half of the memories' characters.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "I'm allergic to peanuts").await?;
    /// memory.remember(&lin, Turn::assistant("Noted.")).await?;
    ///
    /// let request = memory.context(&lin, "Can I eat peanuts?").persona("You are kind.");
    /// let context = request.recent(1).max_tokens(200).await?;
    /// assert!(context.text.starts_with("You are kind."));
    /// assert!(context.text.contains("allergic to peanuts"));
    /// assert!(context.tokens <= 200);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` for an empty query, or if the persona alone exceeds the limit; the errors of
    /// [`recall`](Self::recall).
    pub fn context(&self, scope: &Scope, query: impl Into<RecallQuery>) -> ContextRequest {
        ContextRequest::new(self.clone(), scope.clone(), query)
    }

    /// Returns the record with this id if it is within `scope`.
    ///
    /// # Errors
    /// The store's error; `Corrupt` if the record [cannot be read](crate::DamagedRecord).
    pub async fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        let note = |span: &Span, record: &Option<Record>| _ = span.record("records", usize::from(record.is_some()));
        let work = self.indexed_store().get_one_unexpired(scope, id);
        verb!("get", scope, { records = Empty }, work, note)
    }

    /// Returns the records with these ids, in the same order; `None` for an id that is not within `scope`, and for
    /// a record that cannot be read.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let note =
            |span: &Span, found: &Vec<Option<Record>>| _ = span.record("records", found.iter().flatten().count());
        let work = self.indexed_store().get_unexpired(scope, ids);
        verb!("get_all", scope, { ids = ids.len(), records = Empty }, work, note)
    }

    /// Returns a page of records in order of time. Records that have [expired](Record::is_expired) and are not deleted
    /// yet are left out, so that a page can have fewer records than the limit although another page follows.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid filter; the store's error.
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        let work = self.indexed_store().scan_unexpired(scope, query);
        verb!("scan", scope, { limit = query.limit, records = Empty }, work, note_page)
    }

    /// Counts records and queued jobs within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn stats(&self, scope: &Scope) -> Result<Stats> {
        verb!("stats", scope, {}, self.indexed_store().records().stats(scope))
    }
}

pub(crate) fn note_page(span: &Span, page: &Page) {
    span.record("records", page.records.len());
}
