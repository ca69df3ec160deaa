//! Runs one batch of a job, and retries, postpones or dead-letters the items that fail.

use std::borrow::Cow;

use memory_engine_core::{
    Done, Error, Failure, Pending, Result, Timestamp,
    observe::{Operation, count_done, count_failed, observe},
    operation_span,
};

use crate::{
    handler::JobHandler,
    log::request_ids,
    retry::{Fault, backoff, fault, is_permanent},
    worker::Worker,
};

/// Maximum number of attempts of an item whose record causes the failures. The item then becomes a dead letter. A
/// permanent error makes it one at once.
const MAX_ATTEMPTS: u32 = 5;
/// If an item of a batch has had this many service errors, the batch is done item by item: one item may cause the
/// errors.
const ISOLATE_AFTER_ATTEMPTS: u32 = 3;
/// After this many service errors without a success in between, the service counts as unavailable, and the rest of the
/// batch is postponed.
const MAX_CONSECUTIVE_SERVICE_ERRORS: usize = 3;

impl Worker {
    /// Runs a batch, item by item if a record in it may be at fault. Returns the number of items done.
    pub(crate) async fn run_batch(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<u64> {
        let error = match self.try_run(handler, pending).await {
            Ok(()) => return Ok(pending.len() as u64),
            Err(error) => error,
        };
        let is_suspect = pending.len() > 1 && pending.iter().any(|item| item.attempts >= ISOLATE_AFTER_ATTEMPTS);
        if fault(&error) == Fault::Service && !is_suspect {
            self.postpone(pending, &error).await?;
            return Err(error);
        }
        self.run_one_by_one(handler, pending, error).await
    }

    async fn run_one_by_one(&self, handler: &dyn JobHandler, pending: &[Pending], error: Error) -> Result<u64> {
        // A batch of one item would fail in the same way, unless its record has changed. Its error is reused.
        let mut batch_error = Some(error).filter(|_| pending.len() == 1);
        let mut done = 0;
        let mut failures = Vec::new();
        let mut service_errors = 0;
        let mut suspects = Vec::new();
        for (n, item) in pending.iter().enumerate() {
            // A record that was deleted meanwhile is skipped; one that was changed is done with its current content.
            let found = self.store.get_all(&item.record.scope, &[item.record.id]).await?.pop();
            let Some(record) = found.flatten() else { continue };
            let known_error = batch_error.take().filter(|_| record.revision == item.record.revision);
            let item = Pending { record, ..item.clone() };
            let outcome = match known_error {
                Some(error) => Err(error),
                None => self.try_run(handler, std::slice::from_ref(&item)).await,
            };
            let Err(error) = outcome else {
                done += 1;
                service_errors = 0;
                continue;
            };
            if is_permanent(&error) {
                failures.push(item.failed(&error, None));
                continue;
            }
            if fault(&error) != Fault::Service {
                // If the service gives unusable answers, it may give them to all items. One test spares the others.
                if suspects.is_empty() && done == 0 && handler.test_service().await == Some(false) {
                    failures.push(self.postponed(&item, &error));
                    self.fail(&failures).await?;
                    self.postpone(&pending[n + 1..], &error).await?;
                    return Err(error);
                }
                suspects.push((item, error));
                continue;
            }
            failures.push(self.postponed(&item, &error));
            service_errors += 1;
            if service_errors == MAX_CONSECUTIVE_SERVICE_ERRORS {
                failures.extend(suspects.iter().map(|(item, error)| self.postponed(item, error)));
                self.fail(&failures).await?;
                self.postpone(&pending[n + 1..], &error).await?;
                return Err(error);
            }
        }
        self.judge(handler, suspects, done, failures).await
    }

    /// Stores the failures of a batch that was run item by item. A suspect counts an attempt if its record is at fault,
    /// and becomes a dead letter after [`MAX_ATTEMPTS`]. The record is at fault if the service works. If that is
    /// unknown, the error or a success of another item decides.
    ///
    /// # Errors
    /// The error of an item whose service may be at fault, if no item is done.
    async fn judge(
        &self,
        handler: &dyn JobHandler,
        suspects: Vec<(Pending, Error)>,
        done: u64,
        mut failures: Vec<Failure>,
    ) -> Result<u64> {
        let works = if suspects.is_empty() { None } else { handler.test_service().await };
        let mut service_error = None;
        for (item, error) in suspects {
            let is_record_at_fault = match (works, fault(&error)) {
                (Some(works), _) => works,
                (None, Fault::Record) => true,
                (None, Fault::Unclear | Fault::Service) => done > 0,
            };
            if is_record_at_fault {
                let retry_at = (item.attempts + 1 < MAX_ATTEMPTS).then(|| self.retry_at(item.attempts, &error));
                failures.push(item.failed(&error, retry_at));
            } else {
                failures.push(self.postponed(&item, &error));
                service_error = Some(error);
            }
        }
        self.fail(&failures).await?;
        match service_error.filter(|_| done == 0) {
            Some(error) => Err(error),
            None => Ok(done),
        }
    }

    /// Postpones items because a service is unavailable. This never makes them dead letters.
    async fn postpone(&self, pending: &[Pending], error: &Error) -> Result<()> {
        let failures: Vec<Failure> = pending.iter().map(|item| self.postponed(item, error)).collect();
        self.fail(&failures).await
    }

    /// Returns the failure of an item after a service error. The number of attempts is limited to
    /// [`ISOLATE_AFTER_ATTEMPTS`], so that service errors alone never make an item a dead letter.
    fn postponed(&self, item: &Pending, error: &Error) -> Failure {
        let failure = item.failed(error, Some(self.retry_at(item.attempts, error)));
        let attempts = failure.attempts.min(ISOLATE_AFTER_ATTEMPTS);
        failure.with_attempts(attempts)
    }

    fn retry_at(&self, failures: u32, error: &Error) -> Timestamp {
        let wait = error.retry_after().unwrap_or_default().max(backoff(failures));
        self.store.clock().now().after(wait)
    }

    /// Runs the handler in a span with the ids of the requests that wrote the records. The span has the level INFO, so
    /// that the warnings of a job have it as context.
    async fn try_run(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<()> {
        let job = handler.job().as_str();
        let items = pending.len();
        let id = request_ids(pending);
        let span = operation_span!(INFO, "memory_engine.job", job = job, items = items, id = id);
        observe(&span, Operation::Batch(job), self.run_handler(handler, pending)).await
    }

    /// Stores the failures of items of a job.
    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        self.store.queue().fail(failures).await?;
        for failure in failures {
            count_failed(failure.job.as_str(), failure.retry_at.is_none());
        }
        Ok(())
    }

    /// Runs the handler on the records that it accepts, and removes all items from the queue. For records that the
    /// handler changed, its result has the new revisions.
    async fn run_handler(&self, handler: &dyn JobHandler, pending: &[Pending]) -> Result<()> {
        let is_accepted = |item: &&Pending| handler.accepts(&item.record);
        let accepted: Cow<'_, [Pending]> = match pending.iter().all(|item| is_accepted(&item)) {
            true => Cow::Borrowed(pending),
            false => Cow::Owned(pending.iter().filter(is_accepted).cloned().collect()),
        };
        let done_at_new_revision = handler.run(&accepted).await?;
        let mut done: Vec<Done> = pending.iter().map(Pending::done).collect();
        done.retain(|done| done_at_new_revision.iter().all(|changed| changed.id != done.id));
        done.extend(done_at_new_revision);
        self.store.finish(&done).await?;
        let now = self.store.clock().now();
        let latencies = accepted.iter().map(|item| now.since(item.queued_at));
        count_done(handler.job().as_str(), pending.len(), latencies.clone());
        self.latencies.add(handler.job(), latencies);
        Ok(())
    }
}
