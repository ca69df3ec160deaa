//! Requested jobs and failed jobs.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Failure, Job, Pending, State, Timestamp, Write};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, mo, numbered, session},
};

const LEASE: Duration = Duration::from_secs(60);

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "embed", "the service is unavailable")
}

async fn claim(world: &World, job: Job) -> Vec<Pending> {
    world.jobs.claim(job, LARGE_LIMIT, LEASE).await.unwrap()
}

fn after(world: &World, delay: Duration) -> Timestamp {
    use memory_engine_core::Clock;
    world.clock.now().after(delay)
}

async fn failures(world: &World) -> Vec<Failure> {
    world.jobs.failures(&lin(), LARGE_LIMIT).await.unwrap()
}

pub async fn jobs_are_queued_for_new_or_changed_text(world: &World) {
    let mut record = numbered(&lin(), 1);
    let jobs = vec![Job::Summary, Job::Embedding, Job::Facts, Job::Facts];
    let put = async |record: &memory_engine_core::Record| {
        let write = Write { jobs: jobs.clone(), ..Write::upsert(record.clone()) };
        let mut written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
        written.pending.sort();
        written.pending
    };
    let all = [Job::Keywords, Job::Embedding, Job::Facts, Job::Summary];
    assert_eq!(put(&record).await, all);
    for job in all {
        let pending = claim(world, job).await;
        assert_eq!((pending.len(), pending[0].attempts), (1, 0));
        world.jobs.complete(&[pending[0].done()]).await.unwrap();
    }
    record.importance = 0.9;
    assert_eq!(put(&record).await, []);
    record.text.push('!');
    assert_eq!(put(&record).await, all);
    record.state = State::Revoked;
    assert_eq!(put(&record).await, []);
    for job in Job::ALL {
        assert!(claim(world, job).await.is_empty());
    }
}

pub async fn a_failed_job_waits_until_its_retry_time(world: &World) {
    world.put(&[&numbered(&lin(), 1), &numbered(&lin(), 2)]).await;
    let pending = claim(world, Job::Embedding).await;
    let retry_at = after(world, 3 * LEASE);
    let failure = pending[0].failed(&unavailable(), Some(retry_at));
    world.jobs.fail(std::slice::from_ref(&failure)).await.unwrap();
    assert_eq!(failures(world).await, [failure]);
    world.clock.advance(LEASE);
    assert_eq!(claim(world, Job::Embedding).await[0].record.id, id(2), "the other job waits for its retry time");
    world.clock.advance(2 * LEASE);
    let again = claim(world, Job::Embedding).await;
    let attempts = again.iter().find(|pending| pending.record.id == id(1)).map(|pending| pending.attempts);
    assert_eq!(attempts, Some(1));
    assert_eq!(
        world.records.stats(&lin()).await.unwrap().queued.get(&Job::Embedding),
        Some(&2),
        "a failed job is still queued"
    );
    world.jobs.complete(&[again[0].done(), again[1].done()]).await.unwrap();
    assert_eq!(failures(world).await, []);
}

pub async fn dead_letters_are_listed_and_counted_separately(world: &World) {
    world.put(&[&numbered(&session("a"), 1), &numbered(&lin(), 2)]).await;
    world.put(&[&numbered(&mo(), 3)]).await;
    let pending = claim(world, Job::Embedding).await;
    let failed: Vec<_> = pending.iter().map(|pending| pending.failed(&unavailable(), None)).collect();
    world.jobs.fail(&failed).await.unwrap();
    world.clock.advance(1_000 * LEASE);
    assert!(claim(world, Job::Embedding).await.is_empty());
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!((stats.queued.get(&Job::Embedding), stats.dead_letters.get(&Job::Embedding)), (None, Some(&2)));
    assert_eq!(
        failures(world).await.iter().map(|f| (f.id, f.retry_at)).collect::<Vec<_>>(),
        [(id(1), None), (id(2), None)]
    );
    assert!(failures(world).await[0].reason.contains("the service is unavailable"));
    assert_eq!(world.jobs.failures(&session("a"), LARGE_LIMIT).await.unwrap().len(), 1);
    assert_eq!(world.jobs.failures(&lin(), 1).await.unwrap()[0].id, id(1));
    assert_eq!(world.jobs.failures(&session("b"), LARGE_LIMIT).await.unwrap(), []);

    assert_eq!(world.jobs.requeue(&session("a"), Job::Embedding).await.unwrap(), 1);
    let again = claim(world, Job::Embedding).await;
    assert_eq!((again.len(), again[0].record.id, again[0].attempts), (1, id(1), 0), "a requeue resets the attempts");
    assert_eq!(failures(world).await.len(), 1);
}

pub async fn failures_of_old_revisions_are_ignored(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record, &numbered(&lin(), 2)]).await;
    let pending = claim(world, Job::Embedding).await;
    record.text.push('!');
    world.put(&[&record]).await;
    world.forget(&lin(), &[id(2)]).await;
    let failed: Vec<_> = pending.iter().map(|pending| pending.failed(&unavailable(), None)).collect();
    world.jobs.fail(&failed).await.unwrap();
    world.jobs.fail(&[]).await.unwrap();
    assert_eq!(failures(world).await, []);
    assert_eq!(claim(world, Job::Embedding).await[0].record.text, "message 1!");
}
