//! Deletes expired records.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_engine_core::{
    RecordId, RemovalCounts, Result, Scope,
    audit::{Actor, AuditAction, AuditContext, in_context},
};
use memory_engine_indexing::IndexedStore;

use crate::turn_jobs::TurnJobs;

/// Number of records that are looked up at a time, and of one transaction.
const PAGE_ROWS: usize = 500;

/// Deletes the expired records of all tenants, with everything that is derived from them.
#[derive(Debug, Clone)]
pub(crate) struct ExpiredRecords {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) turns: Arc<TurnJobs>,
}

impl ExpiredRecords {
    /// Deletes the records that have expired by now. Returns the numbers of removed items.
    ///
    /// # Errors
    /// The stores' errors. What was deleted before stays deleted.
    pub(crate) async fn delete(&self) -> Result<RemovalCounts> {
        let now = self.store.clock().now();
        let mut removed = RemovalCounts::default();
        loop {
            let expired = self.store.records().expired(now, PAGE_ROWS).await?;
            if expired.is_empty() {
                return Ok(removed);
            }
            let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
            for (scope, id) in expired {
                ids_by_user.entry(scope.namespace()).or_default().push(id);
            }
            for (user, ids) in ids_by_user {
                removed += self.delete_of_user(&user, &ids).await?;
            }
        }
    }

    async fn delete_of_user(&self, user: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        let people: BTreeSet<Scope> = self.turns.people_with_facts(user, ids).await?.into_iter().collect();
        let profiles = self.turns.people_with_profiles(user, ids).await?;
        let audit = AuditContext::default().with_actor(Arc::new(Actor::engine()));
        let audit = audit.with_verb(AuditAction::Expire, "expiry");
        let report = in_context(audit, self.store.records().delete(user, ids)).await?;
        let mut all: BTreeSet<RecordId> = report.ids.iter().copied().collect();
        all.extend(ids);
        let all: Vec<RecordId> = all.into_iter().collect();
        let mut removed = report.removed;
        removed += self.store.unindex(user, &all).await?;
        if !self.store.retention().leaves_tombstones() {
            removed.tombstones -= self.store.records().remove_tombstones(user, &all).await?.min(removed.tombstones);
        }
        // A fact holds again once the fact that superseded it is deleted.
        for person in &people {
            self.turns.reconcile_facts(person).await?;
        }
        self.turns.renew_profiles(&profiles).await?;
        Ok(removed)
    }
}
