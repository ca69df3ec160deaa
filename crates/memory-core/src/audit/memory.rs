//! An audit log in memory.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;

use super::{
    actor::Actor,
    chain::AuditChain,
    entry::{AuditEntry, AuditEvent},
    log::{AuditLog, AuditPage, AuditQuery, PruneReport},
};
use crate::{
    error::Result,
    scope::Scope,
    sync::Mutex,
    time::{Clock, Timestamp},
};

/// An [`AuditLog`] in memory. Its entries are lost when it is dropped.
#[derive(Debug)]
pub struct MemoryAuditLog {
    tenants: Mutex<BTreeMap<String, TenantLog>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct TenantLog {
    chain: AuditChain,
    entries: Vec<AuditEntry>,
}

impl MemoryAuditLog {
    /// Creates an empty log.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { tenants: Mutex::default(), clock }
    }

    fn with_tenant<T>(&self, tenant: &str, call: impl FnOnce(&mut TenantLog) -> T) -> T {
        let mut tenants = self.tenants.lock();
        let new_log = || TenantLog { chain: AuditChain::empty(tenant), entries: Vec::new() };
        call(tenants.entry(tenant.to_owned()).or_insert_with(new_log))
    }
}

#[async_trait]
impl AuditLog for MemoryAuditLog {
    async fn append(&self, tenant: &str, events: Vec<AuditEvent>) -> Result<Vec<u64>> {
        events.iter().try_for_each(|event| event.validate(tenant))?;
        let at = self.clock.now();
        Ok(self.with_tenant(tenant, |log| {
            let entries = log.chain.append(events, at);
            let sequences = entries.iter().map(|entry| entry.sequence).collect();
            log.entries.extend(entries);
            sequences
        }))
    }

    async fn read(&self, scope: &Scope, query: &AuditQuery) -> Result<AuditPage> {
        let is_wanted =
            |entry: &&AuditEntry| scope.covers(&entry.event.scope) && query.matches(entry) && query.is_after(entry);
        let limit = query.limit.saturating_add(1);
        let entries = self.with_tenant(scope.tenant(), |log| -> Vec<AuditEntry> {
            let entries = log.entries.iter();
            match query.oldest_first {
                true => entries.filter(is_wanted).take(limit).cloned().collect(),
                false => entries.rev().filter(is_wanted).take(limit).cloned().collect(),
            }
        });
        Ok(AuditPage::first_of(entries, query.limit))
    }

    async fn chain(&self, tenant: &str) -> Result<AuditChain> {
        Ok(self.with_tenant(tenant, |log| log.chain.clone()))
    }

    async fn is_used(&self) -> Result<bool> {
        Ok(self.tenants.lock().values().any(|log| log.chain.head.sequence > 0))
    }

    async fn prune(&self, tenant: &str, before: Timestamp, actor: &Actor) -> Result<PruneReport> {
        Scope::tenant_wide(tenant)?;
        let at = self.clock.now();
        self.with_tenant(tenant, |log| {
            let kept = log.entries.iter().position(|entry| entry.at >= before).unwrap_or(log.entries.len());
            let Some(last) = kept.checked_sub(1).and_then(|last| log.entries.get(last)) else {
                return Ok(PruneReport::new(0, log.chain.anchor));
            };
            let anchor = last.head();
            let entries = log.chain.prune(kept as u64, anchor, actor, at)?;
            log.entries.extend(entries);
            log.entries.drain(..kept);
            Ok(PruneReport::new(kept as u64, anchor))
        })
    }
}
