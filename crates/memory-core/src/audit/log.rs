//! The contract of an audit log.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    action::AuditAction,
    actor::Actor,
    chain::{AuditChain, AuditHead},
    entry::{AuditEntry, AuditEvent},
};
use crate::{error::Result, id::RecordId, scope::Scope, time::Timestamp};

/// Stores the entries of each tenant as one chain. Entries are appended and pruned, never changed.
///
/// Several processes may append to one log at the same time: each append reads the head of the chain and writes the new
/// one under the same lock.
///
/// # Cancel safety
/// If a future is dropped, the call either has no effect or completes.
#[async_trait]
pub trait AuditLog: Debug + Send + Sync + 'static {
    /// Appends events to the chain of a tenant, all or none. Returns the numbers of their entries, in order.
    ///
    /// # Errors
    /// `InvalidInput` for an event that fails [`AuditEvent::validate`]; the store's error.
    async fn append(&self, tenant: &str, events: Vec<AuditEvent>) -> Result<Vec<u64>>;

    /// Returns a page of the entries whose scope `scope` covers.
    async fn read(&self, scope: &Scope, query: &AuditQuery) -> Result<AuditPage>;

    /// Returns the ends of the chain of a tenant.
    async fn chain(&self, tenant: &str) -> Result<AuditChain>;

    /// Returns true if the log of any tenant has entries, or had any.
    async fn is_used(&self) -> Result<bool>;

    /// Removes the oldest entries of a tenant, up to the first one that was written at `before` or later. Appends an
    /// entry about it first, in the same transaction. Without entries to remove, nothing is written.
    ///
    /// # Errors
    /// `Corrupt` if entries are missing: pruning would hide that. The store's error.
    async fn prune(&self, tenant: &str, before: Timestamp, actor: &Actor) -> Result<PruneReport>;
}

const _: fn(&dyn AuditLog) = |_| {};

/// A query for entries of an audit log.
///
/// ```
/// use memory_engine_core::audit::{AuditAction, AuditQuery};
///
/// let query: AuditQuery = serde_json::from_str(r#"{"actions": ["delete"], "limit": 20}"#)?;
/// assert_eq!(query, AuditQuery::newest(20).with_action(AuditAction::Delete));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditQuery {
    /// Only entries of this key. Default: all.
    pub key: Option<String>,
    /// Only entries of this agent or program. Default: all.
    pub agent: Option<String>,
    /// Only entries with one of these actions. Default: all.
    pub actions: Vec<AuditAction>,
    /// Only entries that name this record. Default: all.
    pub record: Option<RecordId>,
    /// Only entries written at this time or later. Default: all.
    pub since: Option<Timestamp>,
    /// Only entries written before this time. Default: all.
    pub until: Option<Timestamp>,
    /// Continues after the entry with this number, in the order of the query. Default: from the beginning.
    pub after: Option<u64>,
    /// The oldest entry first. Default: the newest first.
    pub oldest_first: bool,
    /// Maximum number of entries. Default: 100.
    pub limit: usize,
}

impl Default for AuditQuery {
    fn default() -> Self {
        Self {
            key: None,
            agent: None,
            actions: Vec::new(),
            record: None,
            since: None,
            until: None,
            after: None,
            oldest_first: false,
            limit: Self::DEFAULT_LIMIT,
        }
    }
}

impl AuditQuery {
    /// The number of entries of a page by default.
    pub const DEFAULT_LIMIT: usize = 100;

    /// A query for the newest entries.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// A query for the oldest entries.
    pub fn oldest(limit: usize) -> Self {
        Self { limit, oldest_first: true, ..Self::default() }
    }

    /// Adds an action. Entries with any of the added actions are returned.
    #[must_use]
    pub fn with_action(mut self, action: AuditAction) -> Self {
        self.actions.push(action);
        self
    }

    crate::setters! {
        #![must_use]
        /// Restricts to entries of this key.
        with_key(key: impl Into<String>) => key = Some(key.into());
        /// Restricts to entries of this agent or program.
        with_agent(agent: impl Into<String>) => agent = Some(agent.into());
        /// Restricts to entries that name this record.
        with_record(record: RecordId) => record = Some(record);
        /// Restricts to entries written at this time or later.
        with_since(since: Timestamp) => since = Some(since);
        /// Restricts to entries written before this time.
        with_until(until: Timestamp) => until = Some(until);
        /// Continues after the entry with this number.
        with_after(sequence: Option<u64>) => after = sequence;
    }

    /// Returns true if the entry fits the query, without its position and limit.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let event = &entry.event;
        self.key.as_deref().is_none_or(|key| event.actor.key() == Some(key))
            && self.agent.as_deref().is_none_or(|agent| event.actor.agent() == Some(agent))
            && (self.actions.is_empty() || self.actions.contains(&event.action))
            && self.record.is_none_or(|record| event.records.contains(&record))
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }

    /// Returns true if the entry comes after the position of the query.
    pub fn is_after(&self, entry: &AuditEntry) -> bool {
        match self.after {
            None => true,
            Some(after) if self.oldest_first => entry.sequence > after,
            Some(after) => entry.sequence < after,
        }
    }
}

/// A page of entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditPage {
    /// The entries, in the order of the query.
    pub entries: Vec<AuditEntry>,
    /// The value of [`AuditQuery::after`] for the next page; `None` for the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl AuditPage {
    /// Creates a page of the first `limit` of these entries, which are in the order of the query.
    pub fn first_of(mut entries: Vec<AuditEntry>, limit: usize) -> Self {
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| has_more).map(|entry| entry.sequence);
        Self { entries, next }
    }
}

/// The result of pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PruneReport {
    /// The number of removed entries.
    pub removed: u64,
    /// The latest removed entry. The first remaining one follows it.
    pub anchor: AuditHead,
}

impl PruneReport {
    /// Creates a report.
    pub const fn new(removed: u64, anchor: AuditHead) -> Self {
        Self { removed, anchor }
    }
}
