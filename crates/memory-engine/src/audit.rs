//! The audit log: who changed, deleted or exported which records, and when. It contains no text of a record.
//!
//! Auditing belongs to a store. Once a store has a log, every engine that opens it with default settings continues the
//! log. An entry is written before its action: if the log cannot be written, the action is refused with `Unavailable`.
//! The entries of a tenant form a chain of hashes, so that a changed or removed entry is found by [`Audit::verify`].
//!
//! ```
//! use memory_engine::{
//!     MemoryEngine, Scope,
//!     audit::{Actor, AuditAction, AuditMode, AuditOptions, AuditQuery},
//! };
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let audit = AuditOptions::new(AuditMode::On);
//! let memory = MemoryEngine::builder().in_memory().audit(audit).background(false).build().await?;
//! let lin = Scope::user("lin")?;
//! let laptop = memory.with_actor(Actor::new(Some("laptop"), Some("claude-code")));
//! let id = laptop.remember(&lin, "The spare key is under the mat").await?;
//! laptop.forget(&lin, id).await?;
//!
//! let log = memory.audit().read(&lin, &AuditQuery::newest(1)).await?;
//! let event = &log.entries[0].event;
//! assert_eq!((event.action, event.actor.key()), (AuditAction::Delete, Some("laptop")));
//! assert_eq!(event.records, [id]);
//! assert!(memory.audit().verify(&lin, None).await?.is_intact());
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

pub(crate) mod handle;
mod options;
mod synonyms;

pub use memory_engine_core::audit::{
    Actor, AuditAction, AuditChain, AuditContext, AuditEntry, AuditEvent, AuditHash, AuditHead, AuditLog, AuditOutcome,
    AuditPage, AuditProblem, AuditQuery, AuditVerification, MemoryAuditLog, PruneReport, in_context, verify_chain,
};

pub(crate) use self::synonyms::AuditedSynonymStore;
pub use self::{
    handle::Audit,
    options::{AuditMode, AuditOptions},
};
