//! One batch of a job, and what becomes of the items that fail.

use std::borrow::Cow;

use memory_engine_core::{Done, Error, Failure, Pending, Result, Timestamp};
use tracing::Instrument;

use crate::{
    handler::JobHandler,
    log::request_ids,
    retry::{backoff, is_record_at_fault},
    worker::Worker,
};

/// An item that fails this often by its own fault is given up.
const MAX_ATTEMPTS: u32 = 5;
/// After this many failures without fault, a batch is done one by one: one of its items may be what chokes the service.
const SUSPECT_ATTEMPTS: u32 = 3;
/// After this many such failures in a row the service is taken to be away.
const MAX_FAILURES_IN_A_ROW: usize = 3;

impl Worker {
    /// Does a batch; if a record in it is at fault, item by item. Returns the number of items done.
    pub(crate) async fn run_batch(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<u64> {
        let error = match self.try_run(handler, pending).await {
            Ok(()) => return Ok(pending.len() as u64),
            Err(error) => error,
        };
        let is_suspect = pending.len() > 1 && pending.iter().any(|one| one.attempts >= SUSPECT_ATTEMPTS);
        if !is_record_at_fault(&error) && !is_suspect {
            self.postpone(pending, &error).await?;
            return Err(error);
        }
        self.run_one_by_one(handler, pending, error).await
    }

    async fn run_one_by_one(&self, handler: &dyn JobHandler, pending: &[Pending], first: Error) -> Result<u64> {
        // A batch of one that has not changed would fail again in the same way.
        let mut known = Some(first).filter(|_| pending.len() == 1);
        let mut done = 0;
        let mut failures = Vec::new();
        let mut failures_in_a_row = 0;
        for (n, one) in pending.iter().enumerate() {
            // Another job may have changed the record meanwhile.
            let Some(record) = self.store.get(&one.record.scope, one.record.id).await? else { continue };
            let known = known.take().filter(|_| record.revision == one.record.revision);
            let one = Pending { record, ..one.clone() };
            let outcome = match known {
                Some(error) => Err(error),
                None => self.try_run(handler, std::slice::from_ref(&one)).await,
            };
            let Err(error) = outcome else {
                done += 1;
                failures_in_a_row = 0;
                continue;
            };
            if is_record_at_fault(&error) {
                let retry_at = (one.attempts + 1 < MAX_ATTEMPTS).then(|| self.retry_at(one.attempts, &error));
                failures.push(one.failed(&error, retry_at));
                continue;
            }
            failures.push(self.postponed(&one, &error));
            failures_in_a_row += 1;
            if failures_in_a_row == MAX_FAILURES_IN_A_ROW {
                self.store.queue().fail(&failures).await?;
                self.postpone(&pending[n + 1..], &error).await?;
                return Err(error);
            }
        }
        self.store.queue().fail(&failures).await?;
        Ok(done)
    }

    /// Makes items wait for a service that is away. They are never given up for it, but wait longer each time.
    async fn postpone(&self, pending: &[Pending], error: &Error) -> Result<()> {
        let failures: Vec<Failure> = pending.iter().map(|one| self.postponed(one, error)).collect();
        self.store.queue().fail(&failures).await
    }

    /// The failure of an item that is not at fault.
    fn postponed(&self, one: &Pending, error: &Error) -> Failure {
        let failure = one.failed(error, Some(self.retry_at(one.attempts, error)));
        Failure { attempts: failure.attempts.min(SUSPECT_ATTEMPTS), ..failure }
    }

    fn retry_at(&self, failures: u32, error: &Error) -> Timestamp {
        let wait = error.retry_after().unwrap_or_default().max(backoff(failures));
        self.store.clock().now().after(wait)
    }

    /// Runs the handler in a span that names the requests that the records came with.
    async fn try_run(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<()> {
        let span = tracing::info_span!("job", job = %handler.job(), id = request_ids(pending));
        self.run_handler(handler, pending).instrument(span).await
    }

    async fn run_handler(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<()> {
        let is_accepted = |one: &&Pending| handler.accepts(&one.record);
        let accepted: Cow<'_, [Pending]> = match pending.iter().all(|one| is_accepted(&one)) {
            true => Cow::Borrowed(pending),
            false => Cow::Owned(pending.iter().filter(is_accepted).cloned().collect()),
        };
        let changed = handler.run(&accepted).await?;
        let mut done: Vec<Done> = pending.iter().map(Pending::done).collect();
        done.retain(|done| changed.iter().all(|changed| changed.id != done.id));
        done.extend(changed);
        self.store.finish(&done).await?;
        let now = self.store.clock().now();
        self.latencies.add(handler.job(), accepted.iter().map(|one| now.since(one.queued_at)));
        Ok(())
    }
}
