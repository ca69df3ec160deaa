//! The ends of a transfer, its page size and its audit context, for copies and merges.

use std::sync::Arc;

use memory_engine_core::{
    ErrorKind,
    audit::{Actor, AuditAction, AuditContext, in_context},
};
use memory_engine_curation::Curation;

/// Number of records that are read and committed together.
pub(crate) const PAGE_RECORDS: usize = 500;

/// An engine as the source or the target of a copy or a merge.
pub trait TransferEnd {
    /// Returns its records, with the jobs and the synonyms that belong to them.
    fn curation(&self) -> &Curation;
    /// Returns the actor of the handle in the audit log; `None` for that of the running task.
    fn actor(&self) -> Option<&Arc<Actor>>;
}

/// Runs work that writes the records of another store. `operation` names it in the audit log.
pub(crate) async fn importing<T>(
    actor: Option<&Arc<Actor>>,
    operation: &'static str,
    work: impl Future<Output = T>,
) -> T {
    let context = AuditContext::current();
    let actor = actor.or_else(|| context.actor()).cloned().unwrap_or_default();
    in_context(context.with_actor(actor).with_verb(AuditAction::Import, operation), Box::pin(work)).await
}

/// Returns true if an error is about the record, not about the store.
pub(crate) fn is_about_a_record(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::NotFound)
}
