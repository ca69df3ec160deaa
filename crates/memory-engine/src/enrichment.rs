//! Background jobs that derive metadata, facts, summaries, profiles and chunks from turns, by rules or by a model.

use std::time::Duration;

use memory_engine_core::{PutMode, Record, RecordId, Result, Scope};
use memory_engine_enrichment::EnrichmentReport;
use memory_engine_indexing::verb;

pub use memory_engine_core::{Language, Locale};
pub use memory_engine_enrichment::EnrichmentOptions;
pub use memory_engine_summarizer::*;

use crate::{admin::operations::Admin, builder::Builder};

impl Builder {
    /// Sets the background jobs other than indexing. Default: none.
    pub fn enrichment(mut self, enrichment: EnrichmentOptions) -> Self {
        self.enrichment = enrichment;
        self
    }
}

/// Derived records.
impl Admin {
    /// Stores turns at an address, all or none, and extracts their facts with the engine's extractor, or with the rules
    /// if there is none. Turns that fail, or are not done within `timeout`, stay queued for the background worker if
    /// the engine extracts facts.
    ///
    /// Metadata of a turn is copied to its facts, except for keys that facts use themselves. A fact that was deleted
    /// before is stored again, because it was said again.
    ///
    /// # Errors
    /// Those of [`MemoryEngine::store`](crate::MemoryEngine::store) with [`PutMode::Create`](crate::PutMode::Create);
    /// nothing is stored then.
    ///
    /// # Cancel safety
    /// Dropping the future may leave turns without facts until [`requeue_enrichment`](Self::requeue_enrichment).
    pub async fn enrich(&self, address: &Scope, turns: Vec<Record>, timeout: Duration) -> Result<EnrichmentReport> {
        let records = turns.len();
        let turns = self.engine.curation().fill_zones(turns, PutMode::Create);
        let work = self.engine.acting(self.engine.enrichment().enrich(address, turns, timeout));
        verb!("admin.enrich", address, { records = records }, work)
    }

    /// Returns the facts that were extracted from these records, in any state, in order of time.
    ///
    /// # Errors
    /// The store's error.
    pub async fn facts_from(&self, address: &Scope, records: &[RecordId]) -> Result<Vec<Record>> {
        let work = self.engine.acting(self.engine.enrichment().turns().facts().derived_from(address, records));
        verb!("admin.facts_from", address, { ids = records.len() }, work)
    }

    /// Summarizes the turns at the end of a conversation that wait for a summary. Returns the number of summaries.
    /// Earlier turns that are still queued are left to the background worker.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, Field, Filter, Kind, MemoryEngine, ScanQuery, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
    /// let monday = Scope::user("lin")?.with_session("monday")?;
    /// memory.remember(&monday, Turn::user("周五要去面试，有点紧张").with_round(1)).await?;
    /// memory.remember(&monday, Turn::assistant("准备得怎么样了？").with_round(1)).await?;
    /// assert_eq!(memory.admin().summarize_now(&monday).await?, 1);
    /// let summaries = ScanQuery::oldest(9).with_filter(Filter::eq(Field::Kind, Kind::SUMMARY.as_str()));
    /// assert_eq!(memory.scan(&monday, &summaries).await?.records[0].derived_from.len(), 2);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the engine makes no summaries; the store's error.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let work = self.engine.acting(self.engine.enrichment().turns().summarize_now(address));
        verb!("admin.summarize_now", address, {}, work)
    }
}
