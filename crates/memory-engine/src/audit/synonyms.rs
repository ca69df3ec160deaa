//! A synonym store whose changes are logged.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Result, Scope,
    audit::{AuditAction, AuditContext, AuditEvent},
};
use memory_engine_indexing::Auditor;
use memory_engine_synonyms::{ApplicableGroups, PairVerdict, SynonymGroup, SynonymStore};

/// A synonym store that logs each change before it makes it. The entries have the number of groups or verdicts, and no
/// words.
#[derive(Debug)]
pub(crate) struct AuditedSynonymStore {
    inner: Arc<dyn SynonymStore>,
    auditor: Arc<Auditor>,
}

impl AuditedSynonymStore {
    pub(crate) fn new(inner: Arc<dyn SynonymStore>, auditor: Arc<Auditor>) -> Self {
        Self { inner, auditor }
    }

    async fn announce(&self, scope: &Scope, action: AuditAction, operation: &str, count: usize) -> Result<()> {
        let actor = AuditContext::current().actor().cloned().map(Arc::unwrap_or_clone).unwrap_or_default();
        let mut event = AuditEvent::new(actor, action, operation, scope.namespace());
        event.count = count as u64;
        self.auditor.announce(event).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl SynonymStore for AuditedSynonymStore {
    async fn list(&self, scope: &Scope) -> Result<Vec<SynonymGroup>> {
        self.inner.list(scope).await
    }

    async fn applicable_groups(&self, scope: &Scope) -> Result<ApplicableGroups> {
        self.inner.applicable_groups(scope).await
    }

    async fn put(&self, scope: &Scope, groups: &[SynonymGroup]) -> Result<()> {
        self.announce(scope, AuditAction::Change, "synonyms.put", groups.len()).await?;
        self.inner.put(scope, groups).await
    }

    async fn remove(&self, scope: &Scope, terms: &[String]) -> Result<u64> {
        self.announce(scope, AuditAction::Delete, "synonyms.remove", terms.len()).await?;
        self.inner.remove(scope, terms).await
    }

    async fn verdicts(&self, scope: &Scope) -> Result<Vec<PairVerdict>> {
        self.inner.verdicts(scope).await
    }

    async fn judge(&self, scope: &Scope, verdicts: &[PairVerdict]) -> Result<()> {
        self.announce(scope, AuditAction::Review, "synonyms.judge", verdicts.len()).await?;
        self.inner.judge(scope, verdicts).await
    }

    async fn clear(&self, scope: &Scope) -> Result<u64> {
        self.announce(scope, AuditAction::Delete, "synonyms.clear", 0).await?;
        self.inner.clear(scope).await
    }
}
