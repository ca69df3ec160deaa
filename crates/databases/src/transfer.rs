//! The ends of a transfer, its page size and its audit context, for copies and merges.

use std::sync::Arc;

use memory_engine_core::{
    Error, ErrorKind, Record, Result,
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

/// The results of a batch, and the refused records.
pub(crate) type Accepted<W> = (Vec<W>, Vec<(Record, Error)>);

/// Stores records as one batch. One refused record rejects its whole batch: then they are stored one by one.
pub(crate) async fn store_accepted<W>(
    records: Vec<Record>,
    store: impl AsyncFn(Vec<Record>) -> Result<Vec<W>>,
) -> Result<Accepted<W>> {
    match store(records.clone()).await {
        Err(error) if is_about_a_record(error.kind()) => {}
        written => return Ok((written?, Vec::new())),
    }
    let (mut written, mut refused) = (Vec::new(), Vec::new());
    for record in records {
        match store(vec![record.clone()]).await {
            Ok(one) => written.extend(one),
            Err(error) if is_about_a_record(error.kind()) => refused.push((record, error)),
            Err(error) => return Err(error),
        }
    }
    Ok((written, refused))
}

/// Returns true if an error is about the record, not about the store.
fn is_about_a_record(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::NotFound)
}
