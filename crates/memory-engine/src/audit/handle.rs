//! Reading, verifying and pruning the audit log.

use std::sync::Arc;

use memory_engine_core::{
    Error, ErrorKind, Result, Scope, Timestamp,
    audit::{
        AuditAction, AuditChain, AuditEvent, AuditHead, AuditLog, AuditPage, AuditQuery, AuditVerification,
        PruneReport, verify_chain,
    },
};
use memory_engine_indexing::verb;

use crate::engine::MemoryEngine;

/// The audit log of an engine. [`MemoryEngine::audit`] returns it.
#[derive(Debug, Clone)]
pub struct Audit {
    pub(crate) engine: MemoryEngine,
}

impl Audit {
    /// Returns true if changes and exports are logged.
    pub fn is_on(&self) -> bool {
        self.engine.indexed_store().auditor().is_some()
    }

    /// Begins the log of the tenant of a scope with an entry, so that every engine that opens the store later logs.
    ///
    /// # Errors
    /// `Unsupported` if the store has no audit log; the store's error.
    pub async fn start(&self, scope: &Scope) -> Result<()> {
        let tenant = Scope::tenant_wide(scope.tenant())?;
        let event = AuditEvent::new(self.engine.actor(), AuditAction::Start, "audit.start", tenant);
        let work = async { self.log()?.append(scope.tenant(), vec![event]).await.map(drop) };
        verb!("audit.start", scope, {}, work)
    }

    /// Returns a page of the entries within `scope`.
    ///
    /// # Errors
    /// `Unsupported` if the store has no audit log; the store's error.
    pub async fn read(&self, scope: &Scope, query: &AuditQuery) -> Result<AuditPage> {
        verb!("audit.read", scope, { limit = query.limit }, async { self.log()?.read(scope, query).await })
    }

    /// Returns the first remaining and the latest entry of the tenant of a scope. The latest one, noted outside of the
    /// database, makes a later removal of entries detectable: see [`verify`](Self::verify).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn chain(&self, scope: &Scope) -> Result<AuditChain> {
        verb!("audit.chain", scope, {}, async { self.log()?.chain(scope.tenant()).await })
    }

    /// Verifies the whole log of the tenant of a scope. The log must contain `expected`, if it is given.
    ///
    /// # Errors
    /// As [`read`](Self::read). A log that was tampered with is no error: see [`AuditVerification::problems`].
    pub async fn verify(&self, scope: &Scope, expected: Option<&AuditHead>) -> Result<AuditVerification> {
        let work = async { verify_chain(self.log()?.as_ref(), scope.tenant(), expected).await };
        verb!("audit.verify", scope, {}, work)
    }

    /// Removes the entries of the tenant of a scope that were written before a time, and logs it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn prune(&self, scope: &Scope, before: Timestamp) -> Result<PruneReport> {
        let actor = self.engine.actor();
        let work = async { self.log()?.prune(scope.tenant(), before, &actor).await };
        verb!("audit.prune", scope, {}, work)
    }

    /// Logs that the records within `scope` are about to be exported, if auditing is on. `operation` names the call of
    /// a program or a protocol; it has at most 128 bytes and no text of a record.
    ///
    /// # Errors
    /// `Unavailable` if the log cannot be written: the export should not happen.
    pub async fn log_export(&self, scope: &Scope, operation: &str) -> Result<()> {
        let Some(auditor) = self.engine.indexed_store().auditor() else { return Ok(()) };
        let event = AuditEvent::new(self.engine.actor(), AuditAction::Export, operation, scope.clone());
        verb!("audit.log_export", scope, {}, auditor.announce(event))
    }

    fn log(&self) -> Result<Arc<dyn AuditLog>> {
        self.engine.indexed_store().check_open("audit")?;
        self.engine.indexed_store().records().audit_log().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "audit", "this store has no audit log; use SQLite, Postgres or memory")
        })
    }
}
