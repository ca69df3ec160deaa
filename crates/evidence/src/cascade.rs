//! Searches the sources of evidence in order, each with a time limit.

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

/// Gathers evidence in three steps: by the vectors of the database; by its keywords if the vectors found nothing; from
/// the local memory if both found nothing.
#[derive(Debug, Clone)]
pub struct EvidenceCascade {
    database: Option<Arc<dyn EvidenceSource>>,
    local: Arc<dyn EvidenceSource>,
    options: EvidenceOptions,
}

impl EvidenceCascade {
    /// Creates a cascade of the local memory alone, with the default options.
    pub fn new(local: Arc<dyn EvidenceSource>) -> Self {
        Self { database: None, local, options: EvidenceOptions::default() }
    }

    /// Sets the database, which is searched first. `None` means no database.
    #[must_use]
    pub fn with_database(mut self, database: Option<Arc<dyn EvidenceSource>>) -> Self {
        self.database = database;
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: EvidenceOptions) -> Self {
        self.options = options;
        self
    }

    /// Gathers the evidence found within the time limits of the steps. It never fails: [`MemoryEvidence::steps`] lists
    /// failed steps.
    pub async fn gather(&self, query: &EvidenceQuery) -> MemoryEvidence {
        let mut evidence = MemoryEvidence::default();
        let request = query.request(&self.options);
        let database = self.database.as_ref().filter(|_| self.options.mode != EvidenceMode::Local);
        let no_database = match self.options.mode {
            EvidenceMode::Local => "the mode is local",
            EvidenceMode::Hybrid | EvidenceMode::Supabase => "no database is configured",
        };

        let vector = match (database, &query.embedding) {
            (None, _) => Err(no_database),
            (_, None) => Err("the query has no vector"),
            (Some(source), Some(embedding)) => Ok(source.by_vector(embedding, &request)),
        };
        evidence.supabase_vector = self.step(&mut evidence, EvidenceSlot::SupabaseVector, vector, query).await;

        let keyword = match database {
            None => Err(no_database),
            Some(_) if evidence.supabase_vector.is_some() => Err("the vectors found evidence"),
            Some(_) if query.keywords.is_empty() => Err("the query has no keywords"),
            Some(source) => Ok(source.by_keywords(&query.keywords, &request)),
        };
        evidence.supabase_keyword = self.step(&mut evidence, EvidenceSlot::SupabaseKeyword, keyword, query).await;

        let local = if query.keywords.is_empty() {
            Err("the query has no keywords")
        } else if !evidence.is_empty() && !self.options.always_local {
            Err("the database found evidence")
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
        search: std::result::Result<impl Future<Output = Result<Vec<Evidence>>>, &'static str>,
        query: &EvidenceQuery,
    ) -> Option<Vec<Evidence>> {
        let started = Instant::now();
        let mut found = Vec::new();
        let outcome = match search {
            Err(reason) => StepOutcome::Skipped(reason),
            Ok(search) => match timeout(self.options.step_time, search).await {
                Err(_) => StepOutcome::Failed(format!("not ready after {} ms", self.options.step_time.as_millis())),
                // The message of an internal error may quote data that must not be logged.
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

    /// Logs the outcome of a step by counts, without any word of the query or of the evidence.
    fn log(&self, step: &EvidenceStep, query: &EvidenceQuery) {
        let slot = step.slot.as_str();
        let took_ms = step.took.as_millis();
        let threshold = self.options.match_threshold;
        let dims = query.embedding.as_ref().map_or(0, Vec::len);
        let assets = query.assets.len();
        let keywords = query.keywords.len();
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
