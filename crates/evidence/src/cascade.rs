//! The order of the sources.

use std::{future::Future, sync::Arc, time::Instant};

use memory_engine_core::{ErrorKind, Result};
use tokio::time::timeout;

use crate::{
    evidence::{Evidence, MemoryEvidence},
    options::{EvidenceMode, EvidenceOptions},
    query::EvidenceQuery,
    source::EvidenceSource,
    step::{EvidenceSlot, EvidenceStep, StepOutcome},
};

/// Gathers evidence: the database's vectors, then its keywords when those gave nothing, then the local memory when both
/// gave nothing.
#[derive(Debug, Clone)]
pub struct EvidenceCascade {
    database: Option<Arc<dyn EvidenceSource>>,
    local: Arc<dyn EvidenceSource>,
    options: EvidenceOptions,
}

impl EvidenceCascade {
    /// A cascade of the local memory alone, with the default options.
    pub fn new(local: Arc<dyn EvidenceSource>) -> Self {
        Self { database: None, local, options: EvidenceOptions::default() }
    }

    /// Asks this database first; nothing changes with `None`.
    #[must_use]
    pub fn with_database(mut self, database: Option<Arc<dyn EvidenceSource>>) -> Self {
        self.database = database;
        self
    }

    /// Gathers with these options.
    #[must_use]
    pub fn with_options(mut self, options: EvidenceOptions) -> Self {
        self.options = options;
        self
    }

    /// Whatever can be had within the time of its steps. It never fails: [`MemoryEvidence::steps`] says what did.
    pub async fn gather(&self, query: &EvidenceQuery) -> MemoryEvidence {
        let (mut evidence, request) = (MemoryEvidence::default(), query.request(&self.options));
        let database = self.database.as_ref().filter(|_| self.options.mode != EvidenceMode::Local);
        let no_database = match self.options.mode {
            EvidenceMode::Local => "the mode is local",
            EvidenceMode::Hybrid | EvidenceMode::Supabase => "no database is configured",
        };

        let vector = match (database, &query.embedding) {
            (None, _) => Err(no_database),
            (_, None) => Err("there is no vector"),
            (Some(source), Some(embedding)) => Ok(source.by_vector(embedding, &request)),
        };
        evidence.supabase_vector = self.step(&mut evidence, EvidenceSlot::SupabaseVector, vector, query).await;

        let keyword = match database {
            None => Err(no_database),
            Some(_) if evidence.supabase_vector.is_some() => Err("the vectors gave something"),
            Some(_) if query.keywords.is_empty() => Err("there are no keywords"),
            Some(source) => Ok(source.by_keywords(&query.keywords, &request)),
        };
        evidence.supabase_keyword = self.step(&mut evidence, EvidenceSlot::SupabaseKeyword, keyword, query).await;

        let local = if query.keywords.is_empty() {
            Err("there are no keywords")
        } else if !evidence.is_empty() && !self.options.always_local {
            Err("the database gave something")
        } else {
            Ok(self.local.by_keywords(&query.keywords, &request))
        };
        evidence.local_keyword = self.step(&mut evidence, EvidenceSlot::LocalKeyword, local, query).await;
        evidence
    }

    async fn step(
        &self,
        evidence: &mut MemoryEvidence,
        slot: EvidenceSlot,
        work: std::result::Result<impl Future<Output = Result<Vec<Evidence>>>, &'static str>,
        query: &EvidenceQuery,
    ) -> Option<Vec<Evidence>> {
        let started = Instant::now();
        let mut found = Vec::new();
        let outcome = match work {
            Err(reason) => StepOutcome::Skipped(reason),
            Ok(work) => match timeout(self.options.step_time, work).await {
                Err(_) => StepOutcome::Failed(format!("not ready after {} ms", self.options.step_time.as_millis())),
                // A server's own words may hold what nobody may log: the kind says enough.
                Ok(Err(e)) if e.kind() == ErrorKind::Internal => StepOutcome::Failed("an internal error".into()),
                Ok(Err(e)) => StepOutcome::Failed(e.to_string()),
                Ok(Ok(hits)) if hits.is_empty() => StepOutcome::Empty,
                Ok(Ok(hits)) => {
                    found = hits;
                    StepOutcome::Hits(found.len())
                }
            },
        };
        let step = EvidenceStep { slot, outcome, took: started.elapsed() };
        self.log(&step, query);
        evidence.steps.push(step);
        (!found.is_empty()).then_some(found)
    }

    /// Logs the outcome of a step by counts: no word of the query, nor of what was found.
    fn log(&self, step: &EvidenceStep, query: &EvidenceQuery) {
        let slot = step.slot.as_str();
        let took_ms = step.took.as_millis();
        let threshold = self.options.match_threshold;
        let dims = query.embedding.as_ref().map_or(0, Vec::len);
        let (assets, keywords) = (query.assets.len(), query.keywords.len());
        match &step.outcome {
            StepOutcome::Hits(hits) => {
                tracing::info!(slot, hits, threshold, assets, keywords, took_ms, "evidence found");
            }
            StepOutcome::Empty => {
                tracing::info!(slot, dims, assets, keywords, took_ms, "no evidence found");
            }
            StepOutcome::Skipped(reason) => tracing::debug!(slot, reason, "source skipped"),
            StepOutcome::Failed(reason) => {
                tracing::warn!(slot, reason, took_ms, "the source failed; the search goes on without it");
            }
        }
    }
}
