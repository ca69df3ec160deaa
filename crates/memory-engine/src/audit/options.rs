//! The options of the audit log.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Clock, Error, ErrorKind, RecordStore, Result, enum_names};
use memory_engine_indexing::Auditor;
use serde::{Deserialize, Serialize};

/// The condition under which an engine writes to the audit log of its store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditMode {
    /// If the store has a log when it is opened.
    #[default]
    Auto,
    /// Always. A store without a log gets one with the first change.
    On,
    /// Never.
    Off,
}

enum_names! {
    AuditMode, "audit mode" {
        Auto => "auto",
        On => "on",
        Off => "off",
    }
}

/// The options of auditing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditOptions {
    /// The condition for logging changes and exports. Default: the store has a log already.
    pub mode: AuditMode,
    /// The time for which entries are kept. Older ones are removed about once an hour, when their tenant writes.
    /// Default: they are kept.
    pub retention: Option<Duration>,
}

impl AuditOptions {
    /// Creates options with this mode, without a limit of time.
    pub const fn new(mode: AuditMode) -> Self {
        Self { mode, retention: None }
    }

    /// Sets the time for which entries are kept.
    #[must_use]
    pub const fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Returns the auditor of a store; `None` if changes are not logged.
    pub(crate) async fn auditor(
        &self,
        records: &dyn RecordStore,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Arc<Auditor>>> {
        if self.mode == AuditMode::Off {
            return Ok(None);
        }
        let log = match (records.audit_log(), self.mode) {
            (Some(log), AuditMode::On) => log,
            (Some(log), _) if log.is_used().await? => log,
            (None, AuditMode::On) => {
                let message = "the record store has no audit log; implement `RecordStore::audit_log`";
                return Err(Error::new(ErrorKind::Unsupported, "audit", message));
            }
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(Auditor::new(log, Arc::clone(clock), self.retention))))
    }
}
