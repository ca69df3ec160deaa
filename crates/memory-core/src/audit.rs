//! The audit log: who changed, deleted or exported which records, and when, without their texts.
//!
//! Each tenant has one chain of entries. The hash of an entry covers the hash of the entry before it, so that
//! [`verify_chain`] finds changed and removed entries. An entry is written before its action. An action that fails gets
//! a second entry.

mod action;
mod actor;
mod chain;
mod context;
mod entry;
mod log;
mod memory;
mod verify;

pub use action::AuditAction;
pub use actor::Actor;
pub use chain::{AuditChain, AuditHash, AuditHead};
pub use context::{AuditContext, in_context};
pub use entry::{AuditEntry, AuditEvent, AuditOutcome};
pub use log::{AuditLog, AuditPage, AuditQuery, PruneReport};
pub use memory::MemoryAuditLog;
pub use verify::{AuditProblem, AuditVerification, verify_chain};
