//! Counts the outcomes of the steps, to find out how often each source has evidence.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::step::{EvidenceSlot, EvidenceStep, StepOutcome};

/// The name of the counter of the feature `metrics`.
#[cfg(feature = "metrics")]
const STEPS: &str = "memory_engine_evidence_steps_total";

/// The outcomes of each slot since a cascade was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct EvidenceStatistics {
    /// Of the database's vectors.
    pub supabase_vector: SlotStatistics,
    /// Of the database's keywords.
    pub supabase_keyword: SlotStatistics,
    /// Of the local memory.
    pub local_keyword: SlotStatistics,
}

/// The outcomes of one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct SlotStatistics {
    /// Number of searches that found evidence.
    pub hits: u64,
    /// Number of searches that found nothing.
    pub empty: u64,
    /// Number of searches that failed, exceeded their time limit, or had an invalid setting.
    pub failed: u64,
    /// Number of queries for which the slot was not searched.
    pub skipped: u64,
}

impl SlotStatistics {
    /// Returns the number of searches.
    pub fn searches(&self) -> u64 {
        self.hits + self.empty + self.failed
    }

    /// Returns the share of searches that found evidence, from 0 to 1, or `None` before the first search.
    pub fn hit_rate(&self) -> Option<f64> {
        let searches = self.searches();
        (searches > 0).then(|| self.hits as f64 / searches as f64)
    }
}

/// The counters of a cascade, one group for each slot.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    supabase_vector: SlotCounters,
    supabase_keyword: SlotCounters,
    local_keyword: SlotCounters,
}

#[derive(Debug, Default)]
struct SlotCounters {
    hits: AtomicU64,
    empty: AtomicU64,
    failed: AtomicU64,
    skipped: AtomicU64,
}

impl Counters {
    /// Counts the outcome of a step.
    pub(crate) fn count(&self, step: &EvidenceStep) {
        let slot = match step.slot {
            EvidenceSlot::SupabaseVector => &self.supabase_vector,
            EvidenceSlot::SupabaseKeyword => &self.supabase_keyword,
            EvidenceSlot::LocalKeyword => &self.local_keyword,
        };
        let (counter, outcome) = match step.outcome {
            StepOutcome::Hits(_) => (&slot.hits, "hit"),
            StepOutcome::Empty => (&slot.empty, "empty"),
            StepOutcome::Failed(_) => (&slot.failed, "failed"),
            StepOutcome::Skipped(_) => (&slot.skipped, "skipped"),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        record_metric(step.slot.as_str(), outcome);
    }

    /// Returns the current counts.
    pub(crate) fn read(&self) -> EvidenceStatistics {
        EvidenceStatistics {
            supabase_vector: self.supabase_vector.read(),
            supabase_keyword: self.supabase_keyword.read(),
            local_keyword: self.local_keyword.read(),
        }
    }
}

impl SlotCounters {
    fn read(&self) -> SlotStatistics {
        SlotStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            empty: self.empty.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
        }
    }
}

#[cfg(feature = "metrics")]
fn record_metric(slot: &'static str, outcome: &'static str) {
    metrics::counter!(STEPS, "slot" => slot, "outcome" => outcome).increment(1);
}

#[cfg(not(feature = "metrics"))]
fn record_metric(_: &'static str, _: &'static str) {}
