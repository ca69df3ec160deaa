//! Stores turns and extracts their facts in one call.

use std::{sync::OnceLock, time::Duration};

use memory_engine_core::{
    Error, ErrorKind, Job, Outcome, PutMode, Record, RecordId, Result, Scope, Trust, Write,
    retry::{MODEL_ATTEMPTS, retry_on_conflict},
};
use memory_engine_summarizer::{RuleFacts, is_said};

use crate::{enrichment::Enrichment, log::log_error};

/// Returns the built-in rules, for an engine without a fact extractor. They are loaded once.
pub(crate) fn built_in_rules() -> Result<&'static RuleFacts> {
    static RULES: OnceLock<RuleFacts> = OnceLock::new();
    if let Some(rules) = RULES.get() {
        return Ok(rules);
    }
    let rules = RuleFacts::built_in()?;
    Ok(RULES.get_or_init(|| rules))
}

/// Turns that were stored, and the facts in them.
///
/// ```
/// use std::time::Duration;
/// use memory_engine::{EnrichmentOptions, Kind, MemoryEngine, Record, Scope, SystemClock};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// let turn = Record::new(lin.clone(), Kind::TURN, "我对海鲜过敏。", &SystemClock);
/// let report = memory.admin().enrich(&lin, vec![turn], Duration::from_secs(60)).await?;
/// assert_eq!((report.facts[0].text.as_str(), report.pending), ("用户对海鲜过敏。", false));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EnrichmentReport {
    /// The stored turns, in their order.
    pub turns: Vec<RecordId>,
    /// The turns that [count](Outcome::Counted) those that were not stored.
    pub counted: Vec<RecordId>,
    /// The facts in them, including those that repeat others or are superseded already.
    pub facts: Vec<Record>,
    /// True if the facts are left to the background.
    pub pending: bool,
}

impl Enrichment {
    /// Stores turns at an address, all or none, and extracts the facts in them with the extractor of the engine's
    /// options, or by the rules if there is none. If that fails or takes longer than `timeout`, the job is queued for
    /// the background, which does it if the options have a fact extractor.
    ///
    /// Metadata of a turn is copied to its facts, except under keys of facts. A fact that was deleted before is added
    /// again, because it was stated again.
    ///
    /// # Errors
    /// Those of [`IndexedStore::write`](memory_engine_indexing::IndexedStore::write) with [`PutMode::Create`]; nothing
    /// is stored then.
    ///
    /// # Cancel safety
    /// Dropping the future may leave turns without facts until [`requeue_enrichment`](Self::requeue_enrichment).
    pub async fn enrich(&self, address: &Scope, turns: Vec<Record>, timeout: Duration) -> Result<EnrichmentReport> {
        let other_jobs = |turn: &Record| self.jobs_for(turn).into_iter().filter(|job| *job != Job::Facts).collect();
        let write = |turn: Record| Write { jobs: other_jobs(&turn), ..Write::new(turn, PutMode::Create) };
        let written = self.store().write(address, turns.into_iter().map(write).collect()).await?;
        let (counted, written): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|written| written.outcome == Outcome::Counted);
        let turns: Vec<RecordId> = written.iter().map(|written| written.id).collect();
        let mut counted: Vec<RecordId> = counted.iter().map(|written| written.id).collect();
        counted.dedup();
        let extracted = tokio::time::timeout(timeout, self.extract_facts(address, &turns)).await;
        let timed_out = |_| Err(Error::new(ErrorKind::Timeout, "facts", "the extraction of facts timed out"));
        match extracted.unwrap_or_else(timed_out) {
            Ok(facts) => Ok(EnrichmentReport { turns, counted, facts, pending: false }),
            Err(error) => {
                log_error("facts", "facts are left to the background", &error);
                self.store().queue().enqueue(address, &turns, Job::Facts).await?;
                self.store().wake();
                Ok(EnrichmentReport { turns, counted, facts: Vec::new(), pending: true })
            }
        }
    }

    /// Extracts the facts in stored turns of one scope. Returns them in any state.
    async fn extract_facts(&self, address: &Scope, turns: &[RecordId]) -> Result<Vec<Record>> {
        // The background may write the metadata of the turns at the same time.
        retry_on_conflict(MODEL_ATTEMPTS, || self.try_extract_facts(address, turns)).await
    }

    async fn try_extract_facts(&self, address: &Scope, turns: &[RecordId]) -> Result<Vec<Record>> {
        let stored = self.store().get_all(address, turns).await?;
        let messages: Vec<Record> = stored.into_iter().flatten().filter(is_said).collect();
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        match self.turns().fact_extractor() {
            Some(extractor) => self.turns().facts().extract(extractor, &messages, Trust::User).await?,
            None => self.turns().facts().extract(built_in_rules()?, &messages, Trust::User).await?,
        }
        self.turns().facts().derived_from(address, turns).await
    }
}
