//! A build without the feature `enrichment`: the background only indexes.

use std::{collections::BTreeSet, sync::Arc};

use memory_engine_core::{Locale, PutMode, Record, RecordId, Result, ReviewPolicy, Scope, Write};
use memory_engine_indexing::IndexedStore;

use crate::handler::JobHandler;

/// Options of the jobs for turns. Without the feature `enrichment` there are none.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct EnrichmentOptions;

/// Replaces the jobs for turns without the feature `enrichment`. It derives nothing; facts and profiles that another
/// build stored are ordinary records.
#[derive(Debug)]
pub struct TurnJobs {
    store: Arc<IndexedStore>,
}

impl TurnJobs {
    pub(crate) fn new(
        store: &Arc<IndexedStore>,
        _options: EnrichmentOptions,
        _locale: Locale,
        _review: ReviewPolicy,
    ) -> (Self, Vec<Arc<dyn JobHandler>>) {
        (Self { store: Arc::clone(store) }, Vec::new())
    }

    /// Returns no scope.
    ///
    /// # Errors
    /// None.
    pub async fn people_with_facts(&self, _scope: &Scope, _ids: &[RecordId]) -> Result<Vec<Scope>> {
        Ok(Vec::new())
    }

    /// Does nothing.
    ///
    /// # Errors
    /// None.
    pub async fn reconcile_facts(&self, _person: &Scope) -> Result<()> {
        Ok(())
    }

    /// Returns the writes of the accepted and the new records. No other record changes.
    ///
    /// # Errors
    /// None.
    pub async fn acceptance(&self, accepted: Vec<Record>, new: Vec<Record>) -> Result<Vec<Write>> {
        let to_update = |record: Record| {
            let mode = PutMode::Update { revision: record.revision };
            Write::new(record, mode)
        };
        let new = new.into_iter().map(|record| Write::new(record, PutMode::IfAbsent));
        Ok(accepted.into_iter().map(to_update).chain(new).collect())
    }

    /// Returns false.
    pub fn writes_profile(&self, _record: &Record) -> bool {
        false
    }

    /// Returns no scope.
    ///
    /// # Errors
    /// None.
    pub async fn people_with_profiles(&self, _scope: &Scope, _ids: &[RecordId]) -> Result<BTreeSet<Scope>> {
        Ok(BTreeSet::new())
    }

    /// Wakes the background.
    ///
    /// # Errors
    /// None.
    pub async fn renew_profiles(&self, _people: &BTreeSet<Scope>) -> Result<()> {
        self.store.wake();
        Ok(())
    }
}
