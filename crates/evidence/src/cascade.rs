//! Searches the sources of evidence in order, each with a time limit.

use std::{env, future::Future, sync::Arc, time::Instant};

use memory_engine_core::{ErrorKind, Result};
use tokio::time::timeout;

use crate::{
    evidence::{Evidence, MemoryEvidence},
    options::{EvidenceMode, EvidenceOptions},
    query::EvidenceQuery,
    source::EvidenceSource,
    statistics::{Counters, EvidenceStatistics},
    step::{EvidenceSlot, EvidenceStep, StepOutcome},
};

/// Gathers evidence in three steps: by the vectors of the database; by its keywords if the vectors found nothing; from
/// the local memory if both found nothing.
#[derive(Debug, Clone)]
pub struct EvidenceCascade {
    database: Option<Arc<dyn EvidenceSource>>,
    local: Arc<dyn EvidenceSource>,
    options: EvidenceOptions,
    /// The errors of invalid settings, with the slots that depend on them.
    invalid_settings: Vec<(&'static [EvidenceSlot], String)>,
    counters: Arc<Counters>,
}

impl EvidenceCascade {
    /// Creates a cascade of the local memory alone, with the default options.
    pub fn new(local: Arc<dyn EvidenceSource>) -> Self {
        Self {
            database: None,
            local,
            options: EvidenceOptions::default(),
            invalid_settings: Vec::new(),
            counters: Arc::default(),
        }
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the database, which is searched first. `None` means no database.
        with_database(database: Option<Arc<dyn EvidenceSource>>);
        /// Sets the options.
        with_options(options: EvidenceOptions);
    }

    /// Sets these options, overridden by the environment variables of [`EvidenceOptions::from_env`]. An invalid
    /// variable is no error: the slots of the database that depend on it stay empty, with the reason in their steps,
    /// and the local memory is searched with the value in `options`.
    ///
    /// `MEMORY_MATCH_THRESHOLD` concerns the vectors; the other variables concern vectors and keywords.
    #[must_use]
    pub fn with_options_from_env(self, options: EvidenceOptions) -> Self {
        self.with_options_from(options, |name| env::var(name).ok())
    }

    fn with_options_from(mut self, options: EvidenceOptions, variable: impl Fn(&str) -> Option<String>) -> Self {
        let (options, invalid) =
            options.overridden_where_valid("MEMORY_MATCH_THRESHOLD", "MEMORY_TIME_WINDOW_HOURS", variable);
        self.options = options;
        self.invalid_settings = invalid.into_iter().map(|setting| (setting.slots, setting.error.to_string())).collect();
        self
    }

    /// Returns the number of searches and hits of each slot since this cascade was created. Clones count together.
    pub fn statistics(&self) -> EvidenceStatistics {
        self.counters.read()
    }

    /// Gathers the evidence found within the time limits of the steps. It never fails: [`MemoryEvidence::steps`] lists
    /// failed steps.
    pub async fn gather(&self, query: &EvidenceQuery) -> MemoryEvidence {
        let mut evidence = MemoryEvidence { keywords: query.keywords.len(), ..MemoryEvidence::default() };
        let request = query.request(&self.options);
        let database = self.database.as_ref().filter(|_| self.options.mode != EvidenceMode::Local);
        let no_database = match self.options.mode {
            EvidenceMode::Local => "the mode is local",
            EvidenceMode::Hybrid | EvidenceMode::Supabase => "no database is configured",
        };

        let vector = match (database, &query.embedding) {
            (None, _) => Err(StepOutcome::Skipped(no_database)),
            (_, None) => Err(StepOutcome::Skipped("the query has no vector")),
            (Some(source), Some(embedding)) => {
                self.check_settings(EvidenceSlot::SupabaseVector).map(|()| source.by_vector(embedding, &request))
            }
        };
        evidence.supabase_vector = self.step(&mut evidence, EvidenceSlot::SupabaseVector, vector, query).await;

        let keyword = match database {
            None => Err(StepOutcome::Skipped(no_database)),
            Some(_) if evidence.supabase_vector.is_some() => Err(StepOutcome::Skipped("the vectors found evidence")),
            Some(_) if query.keywords.is_empty() => Err(StepOutcome::Skipped("the query has no keywords")),
            Some(source) => self
                .check_settings(EvidenceSlot::SupabaseKeyword)
                .map(|()| source.by_keywords(&query.keywords, &request)),
        };
        evidence.supabase_keyword = self.step(&mut evidence, EvidenceSlot::SupabaseKeyword, keyword, query).await;

        let local = if query.keywords.is_empty() {
            Err(StepOutcome::Skipped("the query has no keywords"))
        } else if !evidence.is_empty() && !self.options.always_local {
            Err(StepOutcome::Skipped("the database found evidence"))
        } else {
            Ok(self.local.by_keywords(&query.keywords, &request))
        };
        evidence.local_keyword = self.step(&mut evidence, EvidenceSlot::LocalKeyword, local, query).await;
        evidence
    }

    /// Returns the outcome of a slot that depends on an invalid setting as an error.
    fn check_settings(&self, slot: EvidenceSlot) -> std::result::Result<(), StepOutcome> {
        let invalid = self.invalid_settings.iter().find(|(slots, _)| slots.contains(&slot));
        invalid.map_or(Ok(()), |(_, reason)| Err(StepOutcome::Failed(reason.clone())))
    }

    /// Runs the search of a slot, or records the outcome of a slot that is not searched.
    async fn step(
        &self,
        evidence: &mut MemoryEvidence,
        slot: EvidenceSlot,
        search: std::result::Result<impl Future<Output = Result<Vec<Evidence>>>, StepOutcome>,
        query: &EvidenceQuery,
    ) -> Option<Vec<Evidence>> {
        let started = Instant::now();
        let mut found = Vec::new();
        let outcome = match search {
            Err(outcome) => outcome,
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
        self.counters.count(&step);
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

#[cfg(test)]
mod tests {
    use memory_engine::{MemoryEngine, Scope};

    use super::*;
    use crate::local::LocalEvidence;

    #[tokio::test]
    async fn e3_an_invalid_setting_empties_the_slots_that_depend_on_it() {
        use EvidenceSlot::{LocalKeyword, SupabaseKeyword, SupabaseVector};
        let memory = MemoryEngine::builder().in_memory().background(false).build().await.unwrap();
        let local: Arc<dyn EvidenceSource> = Arc::new(LocalEvidence::new(memory, Scope::user("desk").unwrap()));
        let query = EvidenceQuery::new().with_keywords(["gold"]).with_embedding(vec![1.0; 2]);
        let cases: [(&str, &str, &[EvidenceSlot]); 4] = [
            ("MEMORY_MATCH_THRESHOLD", "85%", &[SupabaseVector]),
            ("MEMORY_TIME_WINDOW_HOURS", "three days", &[SupabaseVector, SupabaseKeyword]),
            ("MEMORY_MATCH_COUNT", "0", &[SupabaseVector, SupabaseKeyword]),
            ("MEMORY_BACKEND", "chroma", &[SupabaseVector, SupabaseKeyword]),
        ];
        for (name, value, empty_slots) in cases {
            let database: Arc<dyn EvidenceSource> = Arc::new(EmptySource);
            let cascade = EvidenceCascade::new(local.clone()).with_database(Some(database));
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            let cascade = cascade.with_options_from(EvidenceOptions::default(), variable);
            assert_eq!(cascade.options, EvidenceOptions::default(), "{name}: the default stays");
            let steps = cascade.gather(&query).await.steps;
            for slot in [SupabaseVector, SupabaseKeyword, LocalKeyword] {
                let step = steps.iter().find(|step| step.slot == slot).unwrap();
                if let StepOutcome::Failed(reason) = &step.outcome {
                    assert!(empty_slots.contains(&slot), "{name}: {step:?}");
                    assert!(reason.contains(name) && reason.contains(value), "{name}: {reason}");
                } else {
                    assert!(!empty_slots.contains(&slot), "{name}: {step:?}");
                    assert_eq!(step.outcome, StepOutcome::Empty, "{name}: {step:?}");
                }
            }
        }
    }

    /// A database without events.
    #[derive(Debug)]
    struct EmptySource;

    #[async_trait::async_trait]
    impl EvidenceSource for EmptySource {
        async fn by_vector(&self, _: &[f32], _: &crate::EvidenceRequest) -> Result<Vec<Evidence>> {
            Ok(Vec::new())
        }
        async fn by_keywords(&self, _: &[String], _: &crate::EvidenceRequest) -> Result<Vec<Evidence>> {
            Ok(Vec::new())
        }
    }
}
