//! Verbs that read: recall and look-ups.

use memory_engine_core::{Page, Record, RecordId, Result, ScanQuery, Scope, Stats, observe::count_recall};
use memory_engine_recall::{EnhancedRecall, Enhancement, Explanation, Recall, RecallQuery};
use tracing::{Span, field::Empty};

use crate::{engine::MemoryEngine, verbs::verb::verb};

impl MemoryEngine {
    /// Returns the memories most relevant to the query, visible from `scope`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or an invalid filter. If no retriever answers: `Timeout` if one of them was
    /// late, otherwise the error of one of them. If only one is late or fails, [`Recall::degraded`] names it.
    pub async fn recall(&self, scope: &Scope, query: impl Into<RecallQuery>) -> Result<Recall> {
        let query = query.into();
        let work = async {
            let outcome = self.recall_pipeline().recall(scope, &query).await;
            self.degraded_log().note(self.settings().clock().as_ref(), scope, &query.text, outcome.as_ref());
            outcome
        };
        let limit = query.limit.unwrap_or_else(|| query.options.unwrap_or(*self.settings().recall_options()).limit);
        verb!("recall", scope, { limit = limit, hits = Empty, relevant = Empty, degraded = Empty }, work, note_recall)
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
        let query = query.into();
        let work = async {
            let outcome = self.recall_pipeline().recall_enhanced(scope, &query, enhancement).await;
            let recall = outcome.as_ref().map(|enhanced| &enhanced.recall);
            self.degraded_log().note(self.settings().clock().as_ref(), scope, &query.text, recall);
            outcome
        };
        let fields = |span: &Span, enhanced: &EnhancedRecall| note_recall(span, &enhanced.recall);
        verb!("recall_enhanced", scope, { hits = Empty, relevant = Empty, degraded = Empty }, work, fields)
    }

    /// Explains the rank of a record in the result of a query, or its absence.
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
        let query = query.into();
        verb!("explain", scope, {}, self.recall_pipeline().explain(scope, &query, id))
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
        verb!("stats", scope, {}, self.record_store().stats(scope))
    }
}

/// Records the result of a recall in its span and in the metrics.
fn note_recall(span: &Span, recall: &Recall) {
    count_recall(recall.hits.len(), recall.degraded.iter().map(|degraded| degraded.stage));
    if span.is_disabled() {
        return;
    }
    span.record("hits", recall.hits.len());
    span.record("relevant", recall.relevant().count());
    let stages: Vec<&str> = recall.degraded.iter().map(|degraded| degraded.stage).collect();
    span.record("degraded", stages.join(","));
}

pub(crate) fn note_page(span: &Span, page: &Page) {
    span.record("records", page.records.len());
}
