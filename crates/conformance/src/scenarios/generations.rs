//! A second version of the vectors, in another space, next to the one that serves.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, Job, Record, RecordId};
use memory_engine_vector_store::{GenerationRole, GenerationStore, VectorEntry, VectorStore};

use crate::{
    World,
    given::{LARGE_LIMIT, at_angle, fails_with, id, lin, mo, near, numbered},
    space,
};

/// Another space of the same length: only its name tells it apart.
fn other() -> EmbeddingSpace {
    EmbeddingSpace::cosine("another", space().dimensions)
}

/// The two handles, on a store that holds two users' records with vectors at angles of their numbers.
async fn begun(world: &World) -> Arc<dyn VectorStore> {
    let second = world.vectors.generations().unwrap().beside(other());
    for record in [numbered(&lin(), 1), numbered(&lin(), 2), numbered(&mo(), 3)] {
        remember(world, &record).await;
    }
    let old = world.vectors.generations().unwrap();
    fails_with(ErrorKind::SchemaMismatch, store(&second).role().await);
    assert_eq!((old.begin().await.unwrap(), old.role().await.unwrap()), (0, GenerationRole::Serving));
    assert_eq!(store(&second).begin().await.unwrap(), 3);
    assert_eq!(store(&second).role().await.unwrap(), GenerationRole::Second);
    second
}

fn store(vectors: &Arc<dyn VectorStore>) -> &dyn GenerationStore {
    vectors.generations().unwrap()
}

/// A record with its vector in the space that serves; the other one waits.
async fn remember(world: &World, record: &Record) {
    world.put(&[record]).await;
    work(world, &world.vectors, Job::Embedding, 0.0).await;
}

/// Does what waits for a job: each vector lies at the angle of its record's number, moved on by `turn`.
async fn work(world: &World, vectors: &Arc<dyn VectorStore>, job: Job, turn: f32) -> usize {
    let pending = world.jobs.claim(job, LARGE_LIMIT, Duration::from_secs(60)).await.unwrap();
    for one in &pending {
        let embedding = at_angle(angle(one.record.id) + turn);
        let record = Arc::new(one.record.clone());
        vectors.upsert(&one.record.scope.clone(), &[VectorEntry { record, embedding }]).await.unwrap();
    }
    let done: Vec<_> = pending.iter().map(|one| one.done()).collect();
    world.jobs.complete(&done).await.unwrap();
    pending.len()
}

fn angle(of: RecordId) -> f32 {
    (1..=9).find(|number| id(*number) == of).map_or(0.0, |number| f32::from(number) / 10.0)
}

/// The number whose vector lies there, of Lin's.
async fn nearest(vectors: &Arc<dyn VectorStore>, to: Embedding) -> RecordId {
    let hits = vectors.search(&lin(), &near(to)).await.unwrap();
    assert!((hits[0].score.value() - 1.0).abs() < 1e-6, "{hits:?}");
    hits[0].id
}

pub async fn a_second_generation_is_filled_beside_the_one_that_serves_and_takes_its_place(world: &World) {
    let second = begun(world).await;
    fails_with(ErrorKind::SchemaMismatch, second.search(&lin(), &near(at_angle(0.1))).await);
    assert_eq!(nearest(&world.vectors, at_angle(0.2)).await, id(2));
    // What is written or written again gets both, what is deleted loses both.
    remember(world, &numbered(&lin(), 4)).await;
    let mut edited = numbered(&lin(), 2);
    edited.text.push('!');
    world.put(&[&edited]).await;
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(!store(&second).switch(9).await.unwrap(), "three wait");
    assert_eq!(work(world, &second, Job::Reembedding, 1.0).await, 3);
    assert_eq!(nearest(&world.vectors, at_angle(0.4)).await, id(4), "until it is told");
    let both = store(&second).generations().await.unwrap();
    assert_eq!((both.records, both.serving.vectors, both.serving.waiting), (3, 2, 1), "the edited one waits");
    assert_eq!(both.second.map(|second| (second.space, second.vectors)), Some((other().to_string(), 3)));

    assert!(store(&second).switch(0).await.unwrap() && store(&second).switch(0).await.unwrap());
    assert_eq!(nearest(&second, at_angle(1.2)).await, id(2));
    fails_with(ErrorKind::SchemaMismatch, world.vectors.search(&lin(), &near(at_angle(0.1))).await);
    // The vectors that the old version lacked are still missing now that it is the second one. The new embedder does
    // not make them.
    assert_eq!(world.vectors.generations().unwrap().role().await.unwrap(), GenerationRole::Second);
    assert!(world.jobs.claim(Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap().is_empty());
    assert!(!world.vectors.generations().unwrap().switch(0).await.unwrap());
    assert_eq!(work(world, &world.vectors, Job::Reembedding, 0.0).await, 1);
    assert!(world.vectors.generations().unwrap().switch(0).await.unwrap(), "back again");
    assert_eq!(nearest(&world.vectors, at_angle(0.2)).await, id(2));
    assert_eq!(
        world.vectors.search(&lin(), &near(at_angle(0.0))).await.unwrap().len(),
        2,
        "the deleted one stays away"
    );
}

pub async fn a_second_generation_that_is_dropped_leaves_nothing_and_makes_room_for_another(world: &World) {
    let second = begun(world).await;
    assert_eq!(work(world, &second, Job::Reembedding, 1.0).await, 3);
    let third = store(&second).beside(EmbeddingSpace::cosine("third", 4));
    fails_with(ErrorKind::SchemaMismatch, store(&third).begin().await);
    assert_eq!(world.vectors.generations().unwrap().drop_second().await.unwrap(), Some(other().to_string()));
    assert_eq!(world.vectors.generations().unwrap().drop_second().await.unwrap(), None);
    fails_with(ErrorKind::SchemaMismatch, store(&second).switch(9).await);
    let record = Arc::new(world.stored(&numbered(&lin(), 1)).await.unwrap());
    let late = VectorEntry { record, embedding: at_angle(1.0) };
    fails_with(ErrorKind::SchemaMismatch, second.upsert(&lin(), &[late]).await);
    remember(world, &numbered(&lin(), 5)).await;
    assert!(world.jobs.claim(Job::Reembedding, LARGE_LIMIT, Duration::ZERO).await.unwrap().is_empty());
    assert_eq!(store(&third).begin().await.unwrap(), 4, "of another length");
    assert_eq!(store(&third).generations().await.unwrap().second.unwrap().vectors, 0);
    assert_eq!(nearest(&world.vectors, at_angle(0.5)).await, id(5));
}

pub async fn a_second_generation_that_is_begun_again_goes_on_and_may_lack_what_was_given_up(world: &World) {
    let second = begun(world).await;
    let pending = world.jobs.claim(Job::Reembedding, LARGE_LIMIT, Duration::from_secs(60)).await.unwrap();
    let failed = pending[0].failed(&Error::invalid("embed", "it is no text"), None);
    world.jobs.fail(&[failed]).await.unwrap();
    assert_eq!(store(&second).begin().await.unwrap(), 3, "what was given up is tried again");
    assert_eq!(work(world, &second, Job::Reembedding, 1.0).await, 1, "the others are still claimed");
    world.clock.advance(Duration::from_secs(60));
    let pending = world.jobs.claim(Job::Reembedding, 1, Duration::from_secs(60)).await.unwrap();
    world.jobs.fail(&[pending[0].failed(&Error::invalid("embed", "it is no text"), None)]).await.unwrap();
    assert_eq!(work(world, &second, Job::Reembedding, 1.0).await, 1);
    assert!(!store(&second).switch(0).await.unwrap());
    assert!(store(&second).switch(1).await.unwrap());
    let serving = store(&second).generations().await.unwrap().serving;
    assert_eq!((serving.vectors, serving.given_up), (2, 1));
}
