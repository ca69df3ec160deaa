//! Runs cases on a store. Writes nothing.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use memory_engine::{
    Clock, Injector, Job, MemoryEngine, RecallOptions, Record, RecordId, ScanQuery, Scope, SystemClock, Timestamp,
    context::{GatewayBlock, IncomingMessage},
    llm::ScriptedModel,
};
use memory_engine_companion::{Companion, Pack};

use crate::{
    args::StoreArgs,
    engine_options::{EngineOptions, RecallArgs},
    modes::EVAL_DEADLINE,
    records,
    regression::{
        case::{Target, TestCase},
        case_clock::CaseClock,
        evaluation::evaluate,
        expectation::RecordPattern,
        observation::{Observation, ObservedBlock},
        outcome::{CaseFailure, CaseOutcome, RecordExplanation},
    },
};

/// Maximum number of records that are explained for one expectation.
const MAX_EXPLAINED: usize = 3;
/// The scene of a message outside of a story.
const DEFAULT_SCENE: &str = "daily";
/// The layer of a companion's context with the recalled messages.
const RELATED_LAYER: &str = "related";

/// Runs cases on an existing store.
#[derive(Debug)]
pub(crate) struct CaseRunner {
    engine: MemoryEngine,
    clock: Arc<CaseClock>,
}

impl CaseRunner {
    /// Opens an existing store. `zone` is the time zone of the injected blocks.
    ///
    /// # Errors
    /// If the store does not exist, or cannot be opened.
    pub(crate) async fn open(store: &StoreArgs, recall: &RecallArgs, zone: &TimeZone) -> Result<Self> {
        let clock = Arc::new(CaseClock::default());
        let options = EngineOptions {
            // A slow machine must not change the result.
            recall: Some(RecallOptions::default().with_deadline(EVAL_DEADLINE)),
            clock: Some(clock.clone()),
            ..recall.engine_options()
        };
        let engine = store.open_with(options.with_locale(zone.clone(), None)).await?;
        Ok(Self { engine, clock })
    }

    /// The engine of the store.
    pub(crate) const fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// Returns the number of records of a tenant that wait for their vectors or keywords.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) async fn waiting_records(&self, tenant: &Scope) -> Result<u64> {
        let queued = self.engine.stats(tenant).await?.queued;
        let count = |job: Job| queued.get(&job).copied().unwrap_or_default();
        Ok(count(Job::Embedding).max(count(Job::Keywords)))
    }

    /// Runs a case, and explains each expected record that is missing.
    ///
    /// # Errors
    /// The store's error. A stage that fails is a failure of the case.
    pub(crate) async fn run(&self, case: &TestCase) -> Result<CaseOutcome> {
        let observation = self.observe(case).await?;
        let mut failures = evaluate(case, &observation);
        for failure in &mut failures {
            self.explain(case, failure).await?;
        }
        Ok(CaseOutcome::new(case, observation, failures))
    }

    /// Returns the hits or the block of a case.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) async fn observe(&self, case: &TestCase) -> Result<Observation> {
        self.clock.set(case.now);
        Ok(match case.target {
            Target::Search => Observation::Hits(self.engine.recall(&case.scope, case.recall_query()).await?),
            Target::Injection => Observation::Block(self.inject(case).await),
            Target::Context => Observation::Block(self.companion_context(case).await?),
        })
    }

    async fn inject(&self, case: &TestCase) -> ObservedBlock {
        let block = GatewayBlock::default().with_zone(case.zone.clone());
        let injector = Injector::new(self.engine.clone()).with_block(block).with_limit(case.limit);
        let scene = case.from_scene.as_deref().unwrap_or(DEFAULT_SCENE);
        let message = IncomingMessage { round: case.round, scene, text: &case.query };
        let conversation: Vec<&str> = case.conversation.iter().map(String::as_str).collect();
        let injection = injector.inject_into(&case.scope, &message, &conversation).await;
        let recalled = injection.records.iter().filter(|record| !injection.core.contains(&record.id));
        ObservedBlock {
            text: injection.text,
            recalled: recalled.cloned().collect(),
            records: injection.records,
            rule: Some(injection.decision.rule.as_str()),
            degraded: injection.degraded,
        }
    }

    async fn companion_context(&self, case: &TestCase) -> Result<ObservedBlock> {
        let pack = case.pack.as_deref().map_or_else(Pack::example, |folder: &Path| Pack::open(folder))?;
        // The scripted model is never called.
        let companion = Companion::new(self.engine.clone(), Arc::new(ScriptedModel::default()), pack);
        let companion = companion.with_zone(case.zone.clone());
        let built = companion.context(&case.scope, &case.query).await?;
        let ids: Vec<RecordId> = built.layers.iter().flat_map(|layer| layer.included.iter().copied()).collect();
        let records: Vec<Record> = self.engine.get_all(&case.scope, &ids).await?.into_iter().flatten().collect();
        let related = built.layer(RELATED_LAYER).map(|layer| layer.included.as_slice()).unwrap_or_default();
        let recalled = records.iter().filter(|record| related.contains(&record.id)).cloned().collect();
        Ok(ObservedBlock { text: built.text, records, recalled, rule: None, degraded: Vec::new() })
    }

    /// Adds the reasons why an expected record is missing.
    async fn explain(&self, case: &TestCase, failure: &mut CaseFailure) -> Result<()> {
        let Some(expectation) = failure.expectation.and_then(|index| case.expect.get(index)) else { return Ok(()) };
        let matching = self.matching(&case.scope, &expectation.pattern).await?;
        if matching.is_empty() {
            let reason = self.absence(&case.scope, &expectation.pattern).await?;
            failure.explanations.push(RecordExplanation::without_record(reason));
        }
        for record in matching {
            let explanation = self.engine.admin().explain(&case.scope, case.recall_query(), record.id).await?;
            let score = explanation.hit.as_ref().map(memory_engine::RecallHit::score_summary);
            failure.explanations.push(RecordExplanation::of(&record, &explanation.verdict, score));
        }
        Ok(())
    }

    /// Returns some records within the scope that match, newest first.
    async fn matching(&self, scope: &Scope, pattern: &RecordPattern) -> Result<Vec<Record>> {
        if let RecordPattern::Id(id) = pattern {
            let mut found = records::find(&self.engine, scope, id).await?;
            found.truncate(MAX_EXPLAINED);
            return Ok(found);
        }
        let mut matching = Vec::new();
        let mut after = None;
        loop {
            let query = ScanQuery::newest(records::PAGE_RECORDS).with_after(after);
            let page = self.engine.history().timeline(scope, &query).await?;
            let remaining = MAX_EXPLAINED - matching.len();
            matching.extend(page.records.into_iter().filter(|record| pattern.matches(record)).take(remaining));
            after = page.next;
            if after.is_none() || matching.len() == MAX_EXPLAINED {
                return Ok(matching);
            }
        }
    }

    /// Explains why no record within the scope matches.
    async fn absence(&self, scope: &Scope, pattern: &RecordPattern) -> Result<String> {
        let tenant = Scope::tenant_wide(scope.tenant()).context("the tenant of the case")?;
        let elsewhere = self.matching(&tenant, pattern).await?;
        Ok(match elsewhere.first() {
            Some(record) => format!("no record within {scope} matches; {} does, at {}", record.id, record.scope),
            None => format!(
                "no record of tenant {} matches: it was never stored, was deleted or has expired",
                scope.tenant()
            ),
        })
    }
}

/// Returns the time at which a case that is recorded now is asked.
pub(crate) fn now_in_seconds() -> Timestamp {
    let micros = SystemClock.now().as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(1_000_000))
}
