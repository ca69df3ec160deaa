//! The entries of an audit log.

use serde::{Deserialize, Serialize};

use super::{
    action::AuditAction,
    actor::Actor,
    chain::{AuditChain, AuditHash, AuditHead},
};
use crate::{
    error::{Error, ErrorKind, Result},
    id::RecordId,
    scope::Scope,
    time::Timestamp,
};

/// The outcome that an entry records: an action that begins, or the failure of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum AuditOutcome {
    /// The action is about to run. Without a later entry about its failure, it succeeded, or the process ended.
    Started,
    /// The action that an earlier entry announced failed.
    Failed {
        /// The number of the entry that announced it.
        entry: u64,
        /// The kind of its error.
        error: ErrorKind,
    },
}

/// An event to be logged: an entry without its place in the chain. It contains no text of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The key and the program that made the change.
    #[serde(flatten)]
    pub actor: Actor,
    /// The action.
    pub action: AuditAction,
    /// The verb of the engine, or the call of a protocol, such as `remember`.
    pub operation: String,
    /// The address of the records, or the narrowest scope that has all of them.
    pub scope: Scope,
    /// The ids of the records, at most [`AuditEvent::MAX_RECORDS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordId>,
    /// The number of records; 0 if it is not known, as for an export.
    pub count: u64,
    /// Announcement or failure.
    #[serde(flatten)]
    pub outcome: AuditOutcome,
}

impl AuditEvent {
    /// Maximum number of ids in an entry. A call with more records has several entries.
    pub const MAX_RECORDS: usize = 500;
    /// Maximum length of the name of an operation, in bytes.
    pub const MAX_OPERATION_BYTES: usize = 128;

    /// Creates the announcement of an action, without records.
    pub fn new(actor: Actor, action: AuditAction, operation: impl Into<String>, scope: Scope) -> Self {
        let outcome = AuditOutcome::Started;
        Self { actor, action, operation: operation.into(), scope, records: Vec::new(), count: 0, outcome }
    }

    /// Creates the announcement that entries are pruned up to `anchor`, which becomes part of the chain.
    pub fn pruning(actor: Actor, tenant: Scope, removed: u64, anchor: &AuditHead) -> Self {
        let operation = pruning_operation(anchor);
        Self { count: removed, ..Self::new(actor, AuditAction::Prune, operation, tenant) }
    }

    /// Returns true if this event announces that entries are pruned up to `anchor`.
    pub fn prunes_to(&self, anchor: &AuditHead) -> bool {
        self.action == AuditAction::Prune && self.operation == pruning_operation(anchor)
    }

    /// Sets the records, and their number.
    #[must_use]
    pub fn with_records(mut self, records: Vec<RecordId>) -> Self {
        self.count = records.len() as u64;
        self.records = records;
        self
    }

    /// Returns the report that the action failed, which `entry` announced.
    #[must_use]
    pub fn failed(self, entry: u64, error: ErrorKind) -> Self {
        Self { outcome: AuditOutcome::Failed { entry, error }, ..self }
    }

    /// Checks that the event can be stored in the log of a tenant.
    ///
    /// # Errors
    /// `InvalidInput` for another tenant, too many ids, or a long name of the operation.
    pub fn validate(&self, tenant: &str) -> Result<()> {
        let problem = if self.scope.tenant() != tenant {
            "the scope of an event belongs to another tenant than the log"
        } else if self.records.len() > Self::MAX_RECORDS {
            "an event has at most 500 record ids; split it"
        } else if self.operation.len() > Self::MAX_OPERATION_BYTES || self.operation.chars().any(char::is_control) {
            "the name of an operation has at most 128 bytes and no control characters"
        } else {
            return Ok(());
        };
        Err(Error::invalid("audit", problem))
    }
}

impl AuditChain {
    /// Appends events at a time. Returns their entries.
    pub fn append(&mut self, events: impl IntoIterator<Item = AuditEvent>, at: Timestamp) -> Vec<AuditEntry> {
        let mut append = |event| {
            let entry = AuditEntry::following(&self.head, at, event);
            self.head = entry.head();
            entry
        };
        events.into_iter().map(&mut append).collect()
    }

    /// Removes the `removed` entries up to `anchor`, and appends an entry about it. Returns the appended entries.
    ///
    /// # Errors
    /// `Corrupt` if these are not all entries between the two anchors: pruning must not hide missing ones.
    pub fn prune(&mut self, removed: u64, anchor: AuditHead, actor: &Actor, at: Timestamp) -> Result<Vec<AuditEntry>> {
        if anchor.sequence.checked_sub(self.anchor.sequence) != Some(removed) {
            let message =
                "entries of the audit log are missing, so that it is not pruned; `memory audit verify` lists them";
            return Err(Error::new(ErrorKind::Corrupt, "prune the audit log", message));
        }
        let event = AuditEvent::pruning(actor.clone(), Scope::tenant_wide(&self.tenant)?, removed, &anchor);
        self.anchor = anchor;
        Ok(self.append([event], at))
    }
}

fn pruning_operation(anchor: &AuditHead) -> String {
    format!("prune {anchor}")
}

/// An entry of an audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The number of the entry within its tenant, without gaps.
    pub sequence: u64,
    /// The time at which it was written.
    pub at: Timestamp,
    /// The event.
    #[serde(flatten)]
    pub event: AuditEvent,
    /// The hash of the entry before it.
    pub previous: AuditHash,
    /// The hash of this entry, which covers all its other fields.
    pub hash: AuditHash,
}

impl AuditEntry {
    /// Creates the entry that follows `head`.
    pub fn following(head: &AuditHead, at: Timestamp, event: AuditEvent) -> Self {
        let sequence = head.sequence + 1;
        let hash = hash_of(sequence, at, &event, &head.hash);
        Self { sequence, at, event, previous: head.hash, hash }
    }

    /// Creates an entry as it is stored. Its hash is not checked.
    pub fn stored(sequence: u64, at: Timestamp, event: AuditEvent, previous: AuditHash, hash: AuditHash) -> Self {
        Self { sequence, at, event, previous, hash }
    }

    /// Returns the number and the hash of the entry.
    pub fn head(&self) -> AuditHead {
        AuditHead::new(self.sequence, self.hash)
    }

    /// Returns true if the fields of the entry have its hash.
    pub fn has_valid_hash(&self) -> bool {
        hash_of(self.sequence, self.at, &self.event, &self.previous) == self.hash
    }
}

/// Returns the hash of an entry. `docs/reference/audit-log.md` describes the bytes; other ones would invalidate every
/// existing log.
fn hash_of(sequence: u64, at: Timestamp, event: &AuditEvent, previous: &AuditHash) -> AuditHash {
    let mut hasher = EntryHasher(blake3::Hasher::new_derive_key("memory-engine 2026 audit entry"));
    hasher.bytes(previous.as_bytes());
    hasher.number(sequence);
    hasher.0.update(&at.as_micros().to_le_bytes());
    hasher.name(event.actor.key());
    hasher.name(event.actor.agent());
    hasher.name(Some(event.action.as_str()));
    hasher.name(Some(&event.operation));
    hasher.name(Some(event.scope.tenant()));
    for (_, name) in event.scope.dimensions() {
        hasher.name(name);
    }
    hasher.number(event.records.len() as u64);
    for id in &event.records {
        hasher.0.update(id.as_bytes());
    }
    hasher.number(event.count);
    match event.outcome {
        AuditOutcome::Started => hasher.name(None),
        AuditOutcome::Failed { entry, error } => {
            hasher.name(Some(error.as_str()));
            hasher.number(entry);
        }
    }
    AuditHash::from_bytes(*hasher.0.finalize().as_bytes())
}

struct EntryHasher(blake3::Hasher);

impl EntryHasher {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    /// Hashes a name so that a missing one differs from every other.
    fn name(&mut self, name: Option<&str>) {
        self.0.update(&[u8::from(name.is_some())]);
        if let Some(name) = name {
            self.bytes(name.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> AuditEvent {
        let scope = Scope::user("lin").unwrap();
        let actor = Actor::new(Some("laptop"), None);
        let id = RecordId::named(&scope, "one");
        AuditEvent::new(actor, AuditAction::Write, "remember", scope).with_records(vec![id])
    }

    fn entry() -> AuditEntry {
        AuditEntry::following(&AuditHead::genesis("default"), Timestamp::from_micros(1_772_000_000_123_456), event())
    }

    #[test]
    fn the_hash_of_an_entry_is_stable() {
        // Hashes are stored, so they must not change between versions.
        assert_eq!(entry().hash.to_string(), STABLE_HASH);
    }

    #[test]
    fn every_field_changes_the_hash() {
        let lin = Scope::user("lin").unwrap();
        type Change = Box<dyn Fn(&mut AuditEntry)>;
        let changes: Vec<(&str, Change)> = vec![
            ("sequence", Box::new(|entry| entry.sequence = 2)),
            ("time", Box::new(|entry| entry.at = entry.at.after(std::time::Duration::from_micros(1)))),
            ("key", Box::new(|entry| entry.event.actor = Actor::new(Some("phone"), None))),
            ("key and agent", Box::new(|entry| entry.event.actor = Actor::new(None, Some("laptop")))),
            ("action", Box::new(|entry| entry.event.action = AuditAction::Delete)),
            ("operation", Box::new(|entry| entry.event.operation = "store".into())),
            ("user", Box::new(|entry| entry.event.scope = Scope::user("mo").unwrap())),
            ("agent", Box::new(move |entry| entry.event.scope = lin.clone().with_agent("a").unwrap())),
            ("records", Box::new(|entry| entry.event.records.clear())),
            ("count", Box::new(|entry| entry.event.count = 2)),
            ("outcome", Box::new(|entry| entry.event = event().failed(1, ErrorKind::Conflict))),
            ("previous", Box::new(|entry| entry.previous = AuditHash::from_bytes([0; 32]))),
            ("hash", Box::new(|entry| entry.hash = AuditHash::from_bytes([0; 32]))),
        ];
        assert!(entry().has_valid_hash());
        for (field, change) in changes {
            let mut changed = entry();
            change(&mut changed);
            assert!(!changed.has_valid_hash(), "{field}");
        }
    }

    #[test]
    fn json_has_every_field_and_is_read_back() {
        for entry in
            [entry(), AuditEntry::following(&entry().head(), entry().at, event().failed(1, ErrorKind::Timeout))]
        {
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<AuditEntry>(&json).unwrap(), entry, "{json}");
        }
    }

    #[test]
    fn invalid_events_are_refused() {
        assert!(event().validate("other").is_err());
        assert!(event().with_records(vec![RecordId::new(); 501]).validate("default").is_err());
        assert!(AuditEvent { operation: "x".repeat(129), ..event() }.validate("default").is_err());
        assert!(event().validate("default").is_ok());
    }

    const STABLE_HASH: &str = "fe91733989f751af81c98af127d51816a81e23a40a00427b48f4948f25d72731";
}
