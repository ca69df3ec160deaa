//! The job queue of the in-memory store.

use std::{collections::BTreeMap, time::Duration};

use super::record_key::RecordKey;
use crate::{
    store::{Failure, Job, Ticket},
    time::Timestamp,
};

/// The end of the lease of an item that is not leased.
const LEASE_FREE: Timestamp = Timestamp::from_micros(i64::MIN);
/// The end of the lease of a dead letter.
const LEASE_DEAD: Timestamp = Timestamp::from_micros(i64::MAX);
/// Maximum time by which the clock may be set back without an effect on retry delays.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(super) struct JobTable {
    /// By job and ticket. Tickets ascend.
    items: BTreeMap<(Job, u64), QueueItem>,
    tickets: BTreeMap<(Job, RecordKey), u64>,
    last_ticket: u64,
}

/// An entry of the job queue.
#[derive(Debug)]
pub(super) struct QueueItem {
    pub(super) key: RecordKey,
    pub(super) attempts: u32,
    /// The error of the last attempt, if one has failed.
    pub(super) reason: Option<String>,
    pub(super) queued_at: Timestamp,
    /// The end of the lease or of the retry delay. The item is hidden from claims until then.
    leased_until: Timestamp,
    /// The start of the retry delay; `None` for a lease.
    delayed_at: Option<Timestamp>,
}

impl QueueItem {
    /// Returns true if the item can be claimed. A delay that begins in the future ended when the clock was set back.
    fn is_free(&self, now: Timestamp) -> bool {
        let is_from_future = self.delayed_at.is_some_and(|start| start > now.after(MAX_CLOCK_DIFFERENCE));
        self.leased_until <= now || is_from_future && !self.is_dead_letter()
    }

    pub(super) fn is_dead_letter(&self) -> bool {
        self.leased_until == LEASE_DEAD
    }

    /// Returns the end of the lease or of the retry delay; `None` for a dead letter.
    pub(super) fn retry_at(&self) -> Option<Timestamp> {
        Some(self.leased_until).filter(|_| !self.is_dead_letter())
    }
}

impl JobTable {
    /// Queues a job of a record behind all others, and replaces an earlier item of the same job.
    pub(super) fn enqueue(&mut self, job: Job, key: &RecordKey, now: Timestamp) {
        self.last_ticket += 1;
        if let Some(old) = self.tickets.insert((job, key.clone()), self.last_ticket) {
            self.items.remove(&(job, old));
        }
        let item = QueueItem {
            key: key.clone(),
            attempts: 0,
            reason: None,
            queued_at: now,
            leased_until: LEASE_FREE,
            delayed_at: None,
        };
        self.items.insert((job, self.last_ticket), item);
    }

    /// Returns the record of each item, and of each entry of the table of tickets.
    pub(super) fn keys(&self) -> impl Iterator<Item = &RecordKey> {
        self.items.values().map(|item| &item.key).chain(self.tickets.keys().map(|(_, key)| key))
    }

    /// Removes every job of a record from the queue. Returns the number of removed jobs.
    pub(super) fn remove(&mut self, key: &RecordKey) -> u64 {
        let mut removed = 0;
        for job in Job::ALL {
            if let Some(ticket) = self.tickets.remove(&(job, key.clone())) {
                removed += u64::from(self.items.remove(&(job, ticket)).is_some());
            }
        }
        removed
    }

    /// Returns the queued items of a record.
    pub(super) fn items_of(&self, key: RecordKey) -> impl Iterator<Item = (Job, &QueueItem)> {
        Job::ALL.into_iter().filter_map(move |job| {
            let ticket = self.tickets.get(&(job, key.clone()))?;
            Some((job, self.items.get(&(job, *ticket))?))
        })
    }

    /// Leases the oldest free items of a job, and returns them with their tickets. A lease of zero only reads them.
    pub(super) fn claim(
        &mut self,
        job: Job,
        limit: usize,
        lease: Duration,
        now: Timestamp,
    ) -> impl Iterator<Item = (Ticket, &QueueItem)> {
        let free = self.items.range_mut((job, 0)..=(job, u64::MAX)).filter(move |(_, item)| item.is_free(now));
        free.take(limit).map(move |((_, ticket), item)| {
            if !lease.is_zero() {
                item.leased_until = now.after(lease);
                item.delayed_at = None;
            }
            (Ticket(u128::from(*ticket)), &*item)
        })
    }

    /// Sets the end of the lease of a claimed item, unless it was queued again or is a dead letter.
    pub(super) fn extend_lease(&mut self, job: Job, ticket: Ticket, until: Timestamp) {
        let ticket = u64::try_from(ticket.0).unwrap_or(u64::MAX);
        if let Some(item) = self.items.get_mut(&(job, ticket)).filter(|item| !item.is_dead_letter()) {
            item.leased_until = until;
            item.delayed_at = None;
        }
    }

    /// Stores a failure of a job of this record.
    pub(super) fn fail(&mut self, key: RecordKey, failure: &Failure, now: Timestamp) {
        let Some(ticket) = self.tickets.get(&(failure.job, key)) else { return };
        if let Some(item) = self.items.get_mut(&(failure.job, *ticket)) {
            item.leased_until = failure.retry_at.unwrap_or(LEASE_DEAD);
            item.delayed_at = Some(now);
            item.attempts = failure.attempts;
            item.reason = Some(failure.reason.clone());
        }
    }

    /// Returns all items, longest waiting first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = (Job, &QueueItem)> {
        let mut items: Vec<_> = self.items.iter().map(|((job, ticket), item)| (*ticket, *job, item)).collect();
        items.sort_by_key(|(ticket, job, _)| (*ticket, *job));
        items.into_iter().map(|(_, job, item)| (job, item))
    }

    /// Removes the item of a completed job. With a ticket, removes only the item with that ticket.
    pub(super) fn complete(&mut self, job: Job, key: RecordKey, ticket: Option<Ticket>) {
        let job_and_key = (job, key);
        let is_claimed = |current: &u64| ticket.is_none_or(|claimed| claimed == Ticket(u128::from(*current)));
        if let Some(current) = self.tickets.get(&job_and_key).copied().filter(is_claimed) {
            self.tickets.remove(&job_and_key);
            self.items.remove(&(job, current));
        }
    }
}
