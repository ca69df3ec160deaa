//! The job queue.

use std::time::Duration;

use memory_engine_core::{Clock, Error, ErrorKind, Job, Pending, Record, RecordId, Scope, State};
use serde_json::json;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, mo, numbered, session},
};

const LEASE: Duration = Duration::from_secs(60);

async fn claim(world: &World, job: Job, limit: usize, lease: Duration) -> Vec<Pending> {
    world.jobs.claim(job, limit, lease).await.unwrap()
}

fn ids(pending: &[Pending]) -> Vec<RecordId> {
    pending.iter().map(|p| p.record.id).collect()
}

/// The ids of all queued jobs that are not leased, in queue order.
async fn available(world: &World, job: Job) -> Vec<RecordId> {
    ids(&claim(world, job, LARGE_LIMIT, Duration::ZERO).await)
}

/// Writes each record in its own call.
async fn put(world: &World, records: &[Record]) {
    for record in records {
        world.put(&[record]).await;
    }
}

pub async fn jobs_are_claimed_in_queue_order(world: &World) {
    // Neither ids nor times are in the order of the writes.
    put(world, &[3, 1, 2].map(|n| numbered(&lin(), n))).await;
    for job in Job::INDEXING {
        assert_eq!(available(world, job).await, [3, 1, 2].map(id));
        let first = claim(world, job, 1, Duration::ZERO).await.remove(0);
        assert_eq!((first.job, Some(first.record)), (job, world.stored(&numbered(&lin(), 3)).await));
        assert!(claim(world, job, 0, LEASE).await.is_empty());
    }
}

pub async fn a_claimed_job_is_hidden_until_its_lease_expires(world: &World) {
    put(world, &[1, 2, 3].map(|n| numbered(&lin(), n))).await;
    assert_eq!(ids(&claim(world, Job::Embedding, 2, LEASE).await), [1, 2].map(id));
    assert_eq!(ids(&claim(world, Job::Embedding, 9, 2 * LEASE).await), [id(3)]);
    assert!(claim(world, Job::Embedding, 9, LEASE).await.is_empty());
    assert!(available(world, Job::Embedding).await.is_empty(), "a lease of zero does not see leased jobs");
    assert_eq!(available(world, Job::Keywords).await.len(), 3, "leases are per job");
    assert_eq!(
        world.records.stats(&lin()).await.unwrap().queued.get(&Job::Embedding),
        Some(&3),
        "leased jobs are still counted"
    );

    world.clock.advance(LEASE - Duration::from_micros(1));
    assert!(available(world, Job::Embedding).await.is_empty());
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(ids(&claim(world, Job::Embedding, 9, LEASE).await), [1, 2].map(id));
    world.clock.advance(LEASE);
    assert_eq!(available(world, Job::Embedding).await, [1, 2, 3].map(id));
}

pub async fn a_released_job_can_be_claimed_at_once(world: &World) {
    put(world, &[1, 2, 3].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(pending.len(), 3);
    // One is completed and one is a dead letter: neither is released.
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
    let error = Error::new(ErrorKind::InvalidInput, "embed", "empty");
    world.jobs.fail(&[pending[1].failed(&error, None)]).await.unwrap();
    world.jobs.release(&pending).await.unwrap();
    assert_eq!(available(world, Job::Embedding).await, [id(3)]);
    assert_eq!(ids(&claim(world, Job::Embedding, 9, LEASE).await), [id(3)]);
    assert!(available(world, Job::Embedding).await.is_empty(), "it is claimed again");
}

pub async fn a_lease_of_zero_does_not_claim(world: &World) {
    put(world, &[numbered(&lin(), 1)]).await;
    for _ in 0..3 {
        assert_eq!(available(world, Job::Embedding).await, [id(1)]);
    }
}

pub async fn completing_a_job_removes_only_that_job(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
    world.clock.advance(LEASE);
    assert_eq!(available(world, Job::Embedding).await, [id(2)]);
    assert_eq!(available(world, Job::Keywords).await, [1, 2].map(id));
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true], "completing twice is not an error");
}

pub async fn completing_an_old_revision_is_stale(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    record.text.push('!');
    put(world, &[record]).await;
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [false]);
    world.clock.advance(LEASE);
    let again = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!((ids(&again), again[0].record.revision), (vec![id(1)], 2));
    assert_eq!(world.jobs.complete(&[again[0].done()]).await.unwrap(), [true]);
    assert!(available(world, Job::Embedding).await.is_empty());
}

pub async fn completing_a_deleted_record_is_stale(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.forget(&lin(), &[id(1)]).await;
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false, true]);
    world.clock.advance(LEASE);
    for job in [Job::Embedding, Job::Keywords] {
        assert!(!available(world, job).await.contains(&id(1)), "a deleted record has no jobs");
    }
}

pub async fn jobs_of_several_users_complete_independently(world: &World) {
    let (lins, mut mos) = (numbered(&lin(), 1), numbered(&mo(), 1));
    mos.text.push('!');
    put(world, &[lins.clone(), mos]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    let mut done: Vec<_> = pending.iter().map(Pending::done).collect();
    done[0].revision += 1;
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false, true]);
    world.clock.advance(LEASE);
    let remaining = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(
        remaining.iter().map(|p| &p.record.scope).collect::<Vec<_>>(),
        [&lins.scope],
        "the same id under two users is two jobs"
    );
}

pub async fn a_claim_returns_the_current_record(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    record.metadata.insert("mood".into(), json!("glad"));
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(pending.len(), 1, "one job per record");
    assert!(pending[0].record.same_content(&record) && pending[0].record.revision == 2);
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
}

pub async fn a_metadata_change_does_not_requeue_a_completed_job(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    record.metadata.insert("mood".into(), json!("glad"));
    put(world, &[record.clone()]).await;
    assert!(available(world, Job::Embedding).await.is_empty());
    record.text.push('!');
    put(world, &[record]).await;
    assert_eq!(available(world, Job::Embedding).await, [id(1)]);
}

pub async fn jobs_follow_the_state_of_their_record(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    record.state = State::Superseded;
    put(world, &[record.clone()]).await;
    record.text.push('!');
    put(world, &[record.clone()]).await;
    for job in Job::INDEXING {
        assert!(available(world, job).await.is_empty());
    }
    assert_eq!(world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(), 0);
    record.state = State::Active;
    put(world, &[record]).await;
    for job in Job::INDEXING {
        assert_eq!(available(world, job).await, [id(1)]);
    }
}

pub async fn requeue_queues_all_active_records_in_scope(world: &World) {
    let mut records = [1, 2, 3, 4].map(|n| numbered(&session("a"), n));
    (records[2].state, records[3].scope) = (State::Revoked, session("b"));
    put(world, &records).await;
    put(world, &[numbered(&mo(), 5)]).await;
    for job in Job::INDEXING {
        let done: Vec<_> = claim(world, job, LARGE_LIMIT, LEASE).await.iter().map(Pending::done).collect();
        world.jobs.complete(&done).await.unwrap();
    }
    assert_eq!(world.jobs.requeue(&session("a"), Job::Embedding).await.unwrap(), 2);
    assert_eq!(sorted(available(world, Job::Embedding).await), [1, 2].map(id));
    assert!(available(world, Job::Keywords).await.is_empty());
    assert_eq!(
        world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(),
        3,
        "records that are already queued are counted"
    );
    assert_eq!(sorted(available(world, Job::Embedding).await), [1, 2, 4].map(id));
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    assert_eq!(world.jobs.requeue(&tenant, Job::Keywords).await.unwrap(), 4);
    assert_eq!(world.jobs.requeue(&Scope::tenant_wide("other").unwrap(), Job::Keywords).await.unwrap(), 0);
}

pub async fn a_job_requeued_during_work_stays_queued(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.enqueue(&lin(), &[id(1)], Job::Embedding).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [true, true], "no record has changed");
    assert_eq!(available(world, Job::Embedding).await, [id(1)], "it is queued again");
    let without_ticket = memory_engine_core::Done { ticket: None, ..done[0].clone() };
    world.jobs.complete(&[without_ticket]).await.unwrap();
    assert_eq!(available(world, Job::Embedding).await, []);
}

pub async fn enqueue_queues_the_given_records_in_scope(world: &World) {
    let mut records = [1, 2, 3, 4].map(|n| numbered(&session("a"), n));
    (records[2].state, records[3].scope) = (State::Revoked, session("b"));
    put(world, &records).await;
    let ids = [4, 3, 2, 2, 99].map(id);
    assert_eq!(world.jobs.enqueue(&lin(), &ids, Job::Facts).await.unwrap(), 2);
    assert_eq!(available(world, Job::Facts).await, [2, 4].map(id));
    assert_eq!(world.jobs.enqueue(&session("b"), &ids, Job::Graph).await.unwrap(), 1);
    assert_eq!(world.jobs.enqueue(&mo(), &ids, Job::Graph).await.unwrap(), 0);
    assert_eq!(world.jobs.enqueue(&lin(), &[], Job::Graph).await.unwrap(), 0);
    assert_eq!(available(world, Job::Graph).await, [id(4)]);
}

pub async fn one_queue_serves_all_tenants(world: &World) {
    let other = Scope::tenant_wide("other").unwrap();
    put(world, &[numbered(&mo(), 1), numbered(&other, 2), numbered(&session("a"), 3)]).await;
    assert_eq!(available(world, Job::Embedding).await, [1, 2, 3].map(id));
}

fn sorted(mut ids: Vec<RecordId>) -> Vec<RecordId> {
    ids.sort();
    ids
}

pub async fn queued_at_is_reported_and_reset_on_requeue(world: &World) {
    let first = world.clock.now();
    put(world, &[numbered(&lin(), 1)]).await;
    world.clock.advance(LEASE);
    put(world, &[2, 3].map(|n| numbered(&lin(), n))).await;
    let oldest_queued_at =
        async || world.records.stats(&lin()).await.unwrap().waiting_since.get(&Job::Embedding).copied();
    assert_eq!(oldest_queued_at().await, Some(first));
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    let waited: Vec<Duration> = pending.iter().map(|job| world.clock.now().since(job.queued_at)).collect();
    assert_eq!(waited, [LEASE, Duration::ZERO, Duration::ZERO]);
    assert_eq!(oldest_queued_at().await, Some(first), "leased jobs are still queued");
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    assert_eq!(oldest_queued_at().await, Some(first.after(LEASE)));
    world.jobs.fail(&[pending[1].failed(&unavailable(), None)]).await.unwrap();
    world.clock.advance(LEASE);
    world.jobs.enqueue(&lin(), &[id(3)], Job::Embedding).await.unwrap();
    assert_eq!(oldest_queued_at().await, Some(world.clock.now()), "dead letters are not queued");
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    assert_eq!(oldest_queued_at().await, None);
}

pub async fn an_extended_lease_covers_only_claimed_jobs(world: &World) {
    put(world, &[1, 2, 3, 4].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 4, LEASE).await;
    world.clock.advance(LEASE / 2);
    world.jobs.enqueue(&lin(), &[id(2)], Job::Embedding).await.unwrap();
    world.jobs.fail(&[pending[2].failed(&unavailable(), None)]).await.unwrap();
    world.jobs.complete(&[pending[3].done()]).await.unwrap();
    world.jobs.extend_lease(&pending, LEASE).await.unwrap();
    assert_eq!(available(world, Job::Embedding).await, [id(2)], "a new queue entry is not leased");
    world.clock.advance(LEASE - Duration::from_secs(1));
    assert_eq!(available(world, Job::Embedding).await, [id(2)]);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        sorted(available(world, Job::Embedding).await),
        [1, 2].map(id),
        "neither the completed job nor the dead letter"
    );
    world.jobs.extend_lease(&[], LEASE).await.unwrap();
}

pub async fn a_retry_delay_ends_when_the_clock_is_set_back(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let start = world.clock.now();
    world.clock.advance(Duration::from_secs(2 * 60 * 60));
    let ahead = world.clock.now();
    let pending = claim(world, Job::Embedding, 2, LEASE).await;
    let retry_at = Some(ahead.after(LEASE));
    world
        .jobs
        .fail(&[pending[0].failed(&unavailable(), retry_at), pending[1].failed(&unavailable(), None)])
        .await
        .unwrap();
    world.clock.set(ahead.before(Duration::from_secs(1)));
    assert!(available(world, Job::Embedding).await.is_empty(), "clocks differ a little");
    world.clock.set(start);
    assert_eq!(available(world, Job::Embedding).await, [id(1)], "a dead letter stays one");
    assert_eq!(ids(&claim(world, Job::Embedding, 9, LEASE).await), [id(1)]);
    assert!(claim(world, Job::Embedding, 9, LEASE).await.is_empty(), "it is leased by the right clock");
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "test", "the service is unavailable")
}
