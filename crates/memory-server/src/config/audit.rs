//! The audit log.

use std::time::Duration;

use memory_engine::audit::{AuditMode, AuditOptions};
use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The audit log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditConfig {
    /// `on` logs changes and exports, `off` does not, and `auto` continues a log that the database has. Default:
    /// `auto`.
    pub mode: AuditMode,
    /// Number of days for which entries are kept; 0 for no limit. Default: 0.
    pub retention_days: u32,
}

impl AuditConfig {
    /// Returns the options of the engine.
    pub fn options(&self) -> AuditOptions {
        let options = AuditOptions::new(self.mode);
        match self.retention_days {
            0 => options,
            days => options.with_retention(DAY * days),
        }
    }
}
