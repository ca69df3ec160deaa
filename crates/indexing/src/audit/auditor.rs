//! Writes to the audit log of a store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memory_engine_core::{
    Clock, Error, ErrorKind, Result, Timestamp,
    audit::{Actor, AuditEvent, AuditLog},
    sync::Mutex,
};

/// The time between two removals of old entries of a tenant.
const PRUNING_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Writes events to an audit log, and removes entries that are older than the retention.
#[derive(Debug)]
pub struct Auditor {
    log: Arc<dyn AuditLog>,
    clock: Arc<dyn Clock>,
    retention: Option<Duration>,
    pruned_at: Mutex<BTreeMap<String, Timestamp>>,
}

/// Events that were announced, with the numbers of their entries.
pub(crate) type Announced = Vec<(u64, AuditEvent)>;

impl Auditor {
    /// Creates an auditor. Entries older than `retention` are removed about once an hour, when a tenant writes.
    pub fn new(log: Arc<dyn AuditLog>, clock: Arc<dyn Clock>, retention: Option<Duration>) -> Self {
        Self { log, clock, retention, pruned_at: Mutex::default() }
    }

    /// Returns the log.
    pub fn log(&self) -> &Arc<dyn AuditLog> {
        &self.log
    }

    /// Logs an event that is about to happen.
    ///
    /// # Errors
    /// `Unavailable` if the log cannot be written: the event must not happen. `Closed` if the store is closed.
    pub async fn announce(&self, event: AuditEvent) -> Result<()> {
        self.announce_all(vec![event]).await.map(drop)
    }

    pub(crate) async fn announce_all(&self, events: Vec<AuditEvent>) -> Result<Announced> {
        let mut by_tenant: BTreeMap<String, Vec<AuditEvent>> = BTreeMap::new();
        for event in events {
            by_tenant.entry(event.scope.tenant().to_owned()).or_default().push(event);
        }
        let mut announced = Announced::new();
        for (tenant, events) in by_tenant {
            let sequences = self.log.append(&tenant, events.clone()).await.map_err(refusal)?;
            announced.extend(sequences.into_iter().zip(events));
            self.prune_if_due(&tenant).await;
        }
        Ok(announced)
    }

    /// Logs that announced events failed. The error of the events matters more than an error of the log, so that the
    /// latter is only a warning.
    pub(crate) async fn report_failure(&self, announced: Announced, error: &Error) {
        let events = announced.into_iter().map(|(entry, event)| event.failed(entry, error.kind())).collect();
        self.report(events).await;
    }

    /// Logs events that have happened.
    pub(crate) async fn report(&self, events: Vec<AuditEvent>) {
        if let Err(error) = self.announce_all(events).await {
            tracing::warn!(error = %error, "an entry of the audit log is not written");
        }
    }

    async fn prune_if_due(&self, tenant: &str) {
        let Some(retention) = self.retention else { return };
        let now = self.clock.now();
        {
            let mut pruned_at = self.pruned_at.lock();
            if pruned_at.get(tenant).is_some_and(|last| now < last.after(PRUNING_INTERVAL)) {
                return;
            }
            pruned_at.insert(tenant.to_owned(), now);
        }
        if let Err(error) = self.log.prune(tenant, now.before(retention), &Actor::engine()).await {
            tracing::warn!(error = %error, "old entries of the audit log are not removed");
        }
    }
}

fn refusal(error: Error) -> Error {
    if error.kind() == ErrorKind::Closed {
        return error;
    }
    let message = format!("the audit log cannot be written, so nothing was done: {}", error.message());
    Error::new(ErrorKind::Unavailable, "audit", message).with_source(error)
}
