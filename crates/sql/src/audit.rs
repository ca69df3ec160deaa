//! Rows of the audit log.

use memory_engine_core::{
    RecordId, Result, Timestamp,
    audit::{Actor, AuditAction, AuditEntry, AuditEvent, AuditHash, AuditHead, AuditOutcome},
};

use crate::rows;

/// A row of the table `audit_log`, with the columns that both databases store in the same form.
#[derive(Debug)]
pub struct AuditRow<'r> {
    /// The number of the entry.
    pub sequence: i64,
    /// The time, in microseconds since 1970.
    pub written_at: i64,
    /// The name of the key.
    pub key: Option<String>,
    /// The name of the agent or program.
    pub agent: Option<String>,
    /// The name of the action.
    pub action: &'r str,
    /// The name of the operation.
    pub operation: String,
    /// Tenant, user, agent, session and branch; empty for a dimension that is not set.
    pub scope: [&'r str; 5],
    /// The ids of the records.
    pub records: Vec<RecordId>,
    /// The number of records.
    pub record_count: i64,
    /// The entry whose action failed.
    pub failed_entry: Option<i64>,
    /// The kind of the error.
    pub error: Option<&'r str>,
    /// The hash of the entry before it.
    pub previous_hash: &'r [u8],
    /// The hash of the entry.
    pub hash: &'r [u8],
}

impl AuditRow<'_> {
    /// Returns the entry.
    ///
    /// # Errors
    /// `Corrupt` for values that no entry can have.
    pub fn into_entry(self) -> Result<AuditEntry> {
        let corrupt = || rows::corrupt("an entry of the audit log");
        let action: AuditAction = self.action.parse().map_err(|_| corrupt())?;
        let scope = rows::scope(self.scope).map_err(|_| corrupt())?;
        let mut event = AuditEvent::new(Actor::stored(self.key, self.agent), action, self.operation, scope);
        event.records = self.records;
        event.count = number(self.record_count)?;
        event.outcome = match (self.failed_entry, self.error) {
            (None, None) => AuditOutcome::Started,
            (Some(entry), Some(error)) => {
                AuditOutcome::Failed { entry: number(entry)?, error: error.parse().map_err(|_| corrupt())? }
            }
            _ => return Err(corrupt()),
        };
        let at = Timestamp::from_micros(self.written_at);
        Ok(AuditEntry::stored(number(self.sequence)?, at, event, hash(self.previous_hash)?, hash(self.hash)?))
    }
}

/// Returns the columns `failed_entry` and `error` of an event.
pub fn failure(event: &AuditEvent) -> (Option<i64>, Option<&'static str>) {
    match event.outcome {
        AuditOutcome::Failed { entry, error } => (Some(signed(entry)), Some(error.as_str())),
        AuditOutcome::Started => (None, None),
    }
}

/// Returns the head of a chain from its columns.
///
/// # Errors
/// `Corrupt` for a negative number or a hash of another length.
pub fn head(sequence: i64, bytes: &[u8]) -> Result<AuditHead> {
    Ok(AuditHead::new(number(sequence)?, hash(bytes)?))
}

/// Returns a number as it is stored.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(|_| rows::corrupt("a number of the audit log"))
}

fn hash(bytes: &[u8]) -> Result<AuditHash> {
    let bytes = bytes.try_into().map_err(|_| rows::corrupt("a hash of the audit log"))?;
    Ok(AuditHash::from_bytes(bytes))
}
