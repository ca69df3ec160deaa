//! Verbs for what is derived from turns: facts, summaries, the graph.

use std::time::Duration;

use memory_engine_core::{Record, RecordId, Result, Scope};
use memory_engine_enrichment::EnrichmentReport;

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Stores turns at an address, all or none, and extracts the facts in them: by the digest's extractor, or by the rules
    /// if there is none. What fails, or is not done within `timeout`, is left to the background if the digest extracts
    /// facts.
    ///
    /// Metadata of a turn is copied to its facts, under keys that are not a fact's own. A fact that was deleted before is
    /// new, since it is said again.
    ///
    /// # Errors
    /// Those of [`store`](Self::store) with [`PutMode::Create`](memory_engine_core::PutMode::Create); nothing is stored
    /// then.
    ///
    /// # Cancel safety
    /// Dropping the future may leave turns without facts until [`requeue_enrichment`](Self::requeue_enrichment).
    pub async fn learn(&self, address: &Scope, turns: Vec<Record>, timeout: Duration) -> Result<EnrichmentReport> {
        self.enrichment().learn(address, turns, timeout).await
    }

    /// Returns the facts that hold within `scope`, oldest first; `render` of the module `facts` shows them.
    ///
    /// # Errors
    /// The store's error.
    pub async fn facts(&self, scope: &Scope) -> Result<Vec<Record>> {
        self.enrichment().facts().current(scope).await
    }

    /// Returns the facts within `scope` that hold or once held, oldest first. Facts that were merged into another one,
    /// retracted or found wrong are not among them.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).background(false).build().await?;
    /// let lin = Scope::user("lin")?;
    /// for said in ["I live in Porto.", "I live in Lisbon now."] {
    ///     memory.remember(&lin, said).await?;
    ///     memory.drain(&lin, |_| ()).await?;
    /// }
    /// let now: Vec<String> = memory.facts(&lin).await?.into_iter().map(|fact| fact.text).collect();
    /// assert_eq!(now, ["The user lives in Lisbon."]);
    /// assert_eq!(memory.fact_history(&lin).await?.len(), 2); // and Porto, with the day until when it held
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn fact_history(&self, scope: &Scope) -> Result<Vec<Record>> {
        self.enrichment().facts().history(scope).await
    }

    /// Returns the facts that were extracted from these records, whatever their state, in order of time.
    ///
    /// # Errors
    /// The store's error.
    pub async fn facts_from(&self, address: &Scope, records: &[RecordId]) -> Result<Vec<Record>> {
        self.enrichment().facts().derived_from(address, records).await
    }

    /// Summarizes the turns at the end of a conversation that wait for a summary. Returns the number of summaries. Turns
    /// farther back that the background has not done yet are left to it.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
    /// let monday = Scope::user("lin")?.with_session("monday")?;
    /// memory.remember(&monday, Turn::user("周五要去面试，有点紧张").with_round(1)).await?;
    /// memory.remember(&monday, Turn::assistant("准备得怎么样了？").with_round(1)).await?;
    /// assert_eq!(memory.summarize_now(&monday).await?, 1);
    /// let summaries = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, Kind::SUMMARY.as_str()));
    /// assert_eq!(memory.scan(&monday, &summaries).await?.records[0].derived_from.len(), 2);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the engine makes no summaries; the store's error.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        self.enrichment().summarize_now(address).await
    }
}
