//! The audit log contract. Appends run on the writer thread, in one transaction with the new head.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{
    Result, Scope, Timestamp,
    audit::{Actor, AuditChain, AuditEvent, AuditLog, AuditPage, AuditQuery, PruneReport},
};

use crate::{
    audit,
    store::{SqliteStore, writer::Residue},
};

/// The audit log in the file of a store.
#[derive(Debug)]
pub(crate) struct SqliteAuditLog {
    store: SqliteStore,
}

impl SqliteAuditLog {
    /// Returns the audit log in the file of `store`.
    pub(crate) fn new(store: &SqliteStore) -> Self {
        Self { store: store.with_space(store.embedding_space().clone()) }
    }
}

#[async_trait]
impl AuditLog for SqliteAuditLog {
    async fn append(&self, tenant: &str, events: Vec<AuditEvent>) -> Result<Vec<u64>> {
        events.iter().try_for_each(|event| event.validate(tenant))?;
        let tenant = tenant.to_owned();
        let clock = Arc::clone(self.store.clock());
        let no_residue = |_: &Vec<u64>| Residue::None;
        self.store
            .write("append to the audit log", no_residue, move |connection| {
                audit::append(connection, &tenant, events, clock.now())
            })
            .await
    }

    async fn read(&self, scope: &Scope, query: &AuditQuery) -> Result<AuditPage> {
        let scope = scope.clone();
        let query = query.clone();
        self.store.read("read the audit log", move |connection| audit::read(connection, &scope, &query)).await
    }

    async fn chain(&self, tenant: &str) -> Result<AuditChain> {
        let tenant = tenant.to_owned();
        self.store.read("read the audit log", move |connection| audit::chain(connection, &tenant)).await
    }

    async fn is_used(&self) -> Result<bool> {
        // An entry without a chain is a log whose chain was removed.
        let sql = "SELECT EXISTS (SELECT 1 FROM audit_chains) OR EXISTS (SELECT 1 FROM audit_log)";
        self.store
            .read("read the audit log", move |connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))
            .await
    }

    async fn prune(&self, tenant: &str, before: Timestamp, actor: &Actor) -> Result<PruneReport> {
        let tenant = Scope::tenant_wide(tenant)?.tenant().to_owned();
        let actor = actor.clone();
        let clock = Arc::clone(self.store.clock());
        let no_residue = |_: &PruneReport| Residue::None;
        self.store
            .write("prune the audit log", no_residue, move |connection| {
                audit::prune(connection, &tenant, before, &actor, clock.now())
            })
            .await
    }
}
