//! A second version of the vectors, in another space, next to the serving one.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, Job, Record, RecordId};
use memory_engine_vector_store::{EmbeddingVersionRole, EmbeddingVersionStore, VectorEntry, VectorStore};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, at_angle, id, lin, mo, near, numbered},
    space,
};

/// Another space with the same dimensions and another name.
fn other_space() -> EmbeddingSpace {
    EmbeddingSpace::cosine("another", space().dimensions)
}

/// Stores records of two users, begins the second version, and returns its handle.
///
/// The vector of each record has the [`angle`] of its number.
async fn begin_second(world: &World) -> Arc<dyn VectorStore> {
    let second = world.vectors.embedding_versions().unwrap().in_space(other_space());
    for record in [numbered(&lin(), 1), numbered(&lin(), 2), numbered(&mo(), 3)] {
        remember(world, &record).await;
    }
    let old = world.vectors.embedding_versions().unwrap();
    assert_error_kind(ErrorKind::SchemaMismatch, versions(&second).role().await);
    assert_eq!((old.begin().await.unwrap(), old.role().await.unwrap()), (0, EmbeddingVersionRole::Serving));
    assert_eq!(versions(&second).begin().await.unwrap(), 3);
    assert_eq!(versions(&second).role().await.unwrap(), EmbeddingVersionRole::Second);
    second
}

fn versions(vectors: &Arc<dyn VectorStore>) -> &dyn EmbeddingVersionStore {
    vectors.embedding_versions().unwrap()
}

/// Writes a record, and its vector into the serving version. The job of the second version stays queued.
async fn remember(world: &World, record: &Record) {
    world.put(&[record]).await;
    run_jobs(world, &world.vectors, Job::Embedding, 0.0).await;
}

/// Runs all queued jobs and returns their number. Each vector has the angle of its record, plus `offset`.
async fn run_jobs(world: &World, vectors: &Arc<dyn VectorStore>, job: Job, offset: f32) -> usize {
    let pending = world.jobs.claim(job, LARGE_LIMIT, Duration::from_secs(60)).await.unwrap();
    for job in &pending {
        let embedding = at_angle(angle(job.record.id) + offset);
        let record = Arc::new(job.record.clone());
        vectors.upsert(&job.record.scope.clone(), &[VectorEntry::new(record, embedding)]).await.unwrap();
    }
    let done: Vec<_> = pending.iter().map(|job| job.done()).collect();
    world.jobs.complete(&done).await.unwrap();
    pending.len()
}

/// The angle of a record: a tenth of its number, in radians.
fn angle(record: RecordId) -> f32 {
    (1..=9).find(|number| id(*number) == record).map_or(0.0, |number| f32::from(number) / 10.0)
}

/// Returns the id of Lin's record with exactly this vector.
async fn nearest(vectors: &Arc<dyn VectorStore>, embedding: Embedding) -> RecordId {
    let hits = vectors.search(&lin(), &near(embedding)).await.unwrap();
    assert!((hits[0].score.value() - 1.0).abs() < 1e-6, "{hits:?}");
    hits[0].id
}

pub async fn a_second_version_is_filled_and_cut_over(world: &World) {
    let second = begin_second(world).await;
    assert_error_kind(ErrorKind::SchemaMismatch, second.search(&lin(), &near(at_angle(0.1))).await);
    assert_eq!(nearest(&world.vectors, at_angle(0.2)).await, id(2));
    // Writes queue jobs for both versions. Deletions remove the vectors of both.
    remember(world, &numbered(&lin(), 4)).await;
    let mut edited = numbered(&lin(), 2);
    edited.text.push('!');
    world.put(&[&edited]).await;
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(!versions(&second).switch(9).await.unwrap(), "three vectors are missing");
    assert_eq!(run_jobs(world, &second, Job::Reembedding, 1.0).await, 3);
    assert_eq!(nearest(&world.vectors, at_angle(0.4)).await, id(4), "before the switch");
    let both = versions(&second).embedding_versions().await.unwrap();
    assert_eq!((both.records, both.serving.vectors, both.serving.waiting), (3, 2, 1), "the edited record is queued");
    assert_eq!(both.second.map(|second| (second.space, second.vectors)), Some((other_space().to_string(), 3)));

    assert!(versions(&second).switch(0).await.unwrap() && versions(&second).switch(0).await.unwrap());
    assert_eq!(nearest(&second, at_angle(1.2)).await, id(2));
    assert_error_kind(ErrorKind::SchemaMismatch, world.vectors.search(&lin(), &near(at_angle(0.1))).await);
    // The old version is now the second one. Its missing vector is a re-embedding job, not a job of the new embedder.
    assert_eq!(world.vectors.embedding_versions().unwrap().role().await.unwrap(), EmbeddingVersionRole::Second);
    assert!(world.jobs.claim(Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap().is_empty());
    assert!(!world.vectors.embedding_versions().unwrap().switch(0).await.unwrap());
    assert_eq!(run_jobs(world, &world.vectors, Job::Reembedding, 0.0).await, 1);
    assert!(world.vectors.embedding_versions().unwrap().switch(0).await.unwrap(), "it switches back");
    assert_eq!(nearest(&world.vectors, at_angle(0.2)).await, id(2));
    assert_eq!(
        world.vectors.search(&lin(), &near(at_angle(0.0))).await.unwrap().len(),
        2,
        "the deleted record has no vector"
    );
}

pub async fn a_dropped_version_makes_room_for_another(world: &World) {
    let second = begin_second(world).await;
    assert_eq!(run_jobs(world, &second, Job::Reembedding, 1.0).await, 3);
    let third = versions(&second).in_space(EmbeddingSpace::cosine("third", 4));
    assert_error_kind(ErrorKind::SchemaMismatch, versions(&third).begin().await);
    assert_eq!(
        world.vectors.embedding_versions().unwrap().drop_second().await.unwrap(),
        Some(other_space().to_string())
    );
    assert_eq!(world.vectors.embedding_versions().unwrap().drop_second().await.unwrap(), None);
    assert_error_kind(ErrorKind::SchemaMismatch, versions(&second).switch(9).await);
    let record = Arc::new(world.stored(&numbered(&lin(), 1)).await.unwrap());
    let late = VectorEntry::new(record, at_angle(1.0));
    assert_error_kind(ErrorKind::SchemaMismatch, second.upsert(&lin(), &[late]).await);
    remember(world, &numbered(&lin(), 5)).await;
    assert!(world.jobs.claim(Job::Reembedding, LARGE_LIMIT, Duration::ZERO).await.unwrap().is_empty());
    assert_eq!(versions(&third).begin().await.unwrap(), 4, "another number of dimensions is accepted");
    assert_eq!(versions(&third).embedding_versions().await.unwrap().second.unwrap().vectors, 0);
    assert_eq!(nearest(&world.vectors, at_angle(0.5)).await, id(5));
}

pub async fn a_restarted_version_retries_and_may_miss_dead_letters(world: &World) {
    let second = begin_second(world).await;
    let pending = world.jobs.claim(Job::Reembedding, LARGE_LIMIT, Duration::from_secs(60)).await.unwrap();
    let failed = pending[0].failed(&Error::invalid("embed", "it is not a text"), None);
    world.jobs.fail(&[failed]).await.unwrap();
    assert_eq!(versions(&second).begin().await.unwrap(), 3, "dead letters are retried");
    assert_eq!(run_jobs(world, &second, Job::Reembedding, 1.0).await, 1, "the other jobs are still leased");
    world.clock.advance(Duration::from_secs(60));
    let pending = world.jobs.claim(Job::Reembedding, 1, Duration::from_secs(60)).await.unwrap();
    world.jobs.fail(&[pending[0].failed(&Error::invalid("embed", "it is not a text"), None)]).await.unwrap();
    assert_eq!(run_jobs(world, &second, Job::Reembedding, 1.0).await, 1);
    assert!(!versions(&second).switch(0).await.unwrap());
    assert!(versions(&second).switch(1).await.unwrap());
    let serving = versions(&second).embedding_versions().await.unwrap().serving;
    assert_eq!((serving.vectors, serving.dead_letters), (2, 1));
}
