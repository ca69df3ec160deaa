//! The audit log contract. An append locks the row of the chain until its transaction ends.

use async_trait::async_trait;
use memory_engine_core::{
    Result, Scope, Timestamp,
    audit::{Actor, AuditChain, AuditEvent, AuditLog, AuditPage, AuditQuery, PruneReport},
};

use crate::{
    audit,
    database::{
        error::PostgresError,
        transaction::{ReadServers, with_reader, with_transaction},
    },
    store::PostgresStore,
};

/// The audit log in the database of a store.
#[derive(Debug)]
pub(crate) struct PostgresAuditLog {
    store: PostgresStore,
}

impl PostgresAuditLog {
    /// Returns the audit log in the database of `store`.
    pub(crate) fn new(store: &PostgresStore) -> Self {
        Self { store: store.in_space(store.embedding_space().clone()) }
    }
}

/// Entries are read from the primary, because the rest of the chain on a replica may lag behind its head.
#[async_trait]
impl AuditLog for PostgresAuditLog {
    async fn append(&self, tenant: &str, events: Vec<AuditEvent>) -> Result<Vec<u64>> {
        events.iter().try_for_each(|event| event.validate(tenant))?;
        with_transaction!(self.store, "append to the audit log", |connection| {
            audit::append(connection, tenant, &events, self.store.clock().now()).await
        })
    }

    async fn read(&self, scope: &Scope, query: &AuditQuery) -> Result<AuditPage> {
        let servers = ReadServers::primary_only(self.store.primary());
        with_reader!(from servers, "read the audit log", |connection| audit::read(connection, scope, query).await)
    }

    async fn chain(&self, tenant: &str) -> Result<AuditChain> {
        let servers = ReadServers::primary_only(self.store.primary());
        with_reader!(from servers, "read the audit log", |connection| {
            let chain = audit::chain(connection, tenant, audit::SELECT_CHAIN).await?;
            Ok::<_, PostgresError>(chain.unwrap_or(AuditChain::empty(tenant)))
        })
    }

    async fn is_used(&self) -> Result<bool> {
        let servers = ReadServers::primary_only(self.store.primary());
        with_reader!(from servers, "read the audit log", |connection| {
            // An entry without a chain is a log whose chain was removed.
            let sql = "SELECT EXISTS (SELECT FROM audit_chains) OR EXISTS (SELECT FROM audit_log)";
            sqlx::query_scalar(sql).fetch_one(connection).await
        })
    }

    async fn prune(&self, tenant: &str, before: Timestamp, actor: &Actor) -> Result<PruneReport> {
        let tenant = Scope::tenant_wide(tenant)?;
        with_transaction!(self.store, "prune the audit log", |connection| {
            audit::prune(connection, tenant.tenant(), before, actor, self.store.clock().now()).await
        })
    }
}
