//! Vector search.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Embedding, ErrorKind, Field, Filter, Job, Pending, Record, Scope};
use memory_engine_vector_store::{VectorEntry, VectorQuery};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, at_angle, id, lin, mo, near, numbered, session, vector},
    reference::ReferenceStores,
    space,
};

async fn entry(world: &World, record: &Record, embedding: Embedding) -> VectorEntry {
    VectorEntry::new(Arc::new(world.stored(record).await.unwrap()), embedding)
}

async fn put_and_embed(world: &World, record: &Record, embedding: Embedding) {
    world.put(&[record]).await;
    world.embed(record, embedding).await;
}

/// A pseudo-random vector with values from −1 to 1.
fn pseudo_random(seed: u32) -> Embedding {
    let value = |i: u32| ((f64::from(seed * 8 + i) * 12.9898).sin() * 43_758.545_3).fract() as f32;
    vector([0, 1, 2, 3, 4, 5, 6, 7].map(value))
}

/// Stores 100 pseudo-random vectors, at three addresses of one user.
async fn put_hundred<'a>(world: &'a World) -> ReferenceStores<'a> {
    let reference = ReferenceStores::of(world);
    let addresses = [session("a"), session("b"), lin()];
    for number in 1..=100_u8 {
        let mut record = numbered(&addresses[usize::from(number % 3)], number);
        record.importance = f64::from(number) / 100.0;
        world.put(&[&record]).await;
        reference.embed(&record, pseudo_random(number.into())).await;
    }
    reference
}

pub async fn the_store_reports_its_space(world: &World) {
    assert_eq!(world.vectors.space(), &space());
}

pub async fn hits_are_ordered_by_cosine(world: &World) {
    for (number, angle) in [(1, 3.1), (2, 0.5), (3, 0.0), (4, 1.6), (5, -1.0)] {
        put_and_embed(world, &numbered(&lin(), number), at_angle(angle)).await;
    }
    let hits = world.vectors.search(&lin(), &near(at_angle(0.0))).await.unwrap();
    let expected = [(3, 0.0), (2, 0.5), (5, 1.0), (4, 1.6), (1, 3.1_f64)];
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected.map(|(n, _)| id(n)));
    for (hit, (_, angle)) in hits.iter().zip(expected) {
        assert!((hit.score.value() - angle.cos()).abs() < 1e-5, "{} is not {}", hit.score, angle.cos());
    }
}

pub async fn scores_ignore_the_norm_of_a_vector(world: &World) {
    for (number, scale) in [(1, 1e-12_f32), (2, 1.0), (3, 1e12)] {
        let long = at_angle(0.5).values().iter().map(|v| v * scale).collect();
        put_and_embed(world, &numbered(&lin(), number), Embedding::new(long).unwrap()).await;
    }
    for scale in [1e-12_f32, 1.0, 1e12] {
        let query = Embedding::new(at_angle(0.0).values().iter().map(|v| v * scale).collect()).unwrap();
        let hits = world.vectors.search(&lin(), &near(query)).await.unwrap();
        assert_eq!(hits.len(), 3);
        assert!(hits.iter().all(|hit| (hit.score.value() - 0.5_f64.cos()).abs() < 1e-5), "{hits:?}");
    }
}

pub async fn search_equals_exact_search(world: &World) {
    let reference = put_hundred(world).await;
    for seed in 1000..1010 {
        for (scope, limit) in
            [(lin(), 1), (lin(), 10), (lin(), LARGE_LIMIT), (session("a"), 5), (session("b"), LARGE_LIMIT)]
        {
            let query = VectorQuery::new(pseudo_random(seed), limit);
            reference.check_vector_search(&scope, &query).await.unwrap();
        }
    }
}

pub async fn equal_vector_scores_are_ordered_by_id(world: &World) {
    for number in [5, 2, 4, 1, 3] {
        put_and_embed(world, &numbered(&lin(), number), at_angle(1.0)).await;
    }
    for limit in [0, 1, 3, 5, 9, usize::MAX] {
        let hits = world.vectors.search(&lin(), &VectorQuery::new(at_angle(0.0), limit)).await.unwrap();
        let expected: Vec<_> = (1..=5).take(limit).map(id).collect();
        assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected);
    }
}

pub async fn a_selective_filter_returns_all_matches(world: &World) {
    let reference = put_hundred(world).await;
    for (min_importance, matches) in [(0.1, 91), (0.9, 11), (0.96, 5), (1.0, 1), (2.0, 0)] {
        let filter = Filter::compare(Field::Importance, memory_engine_core::Op::Ge, min_importance);
        for limit in [3, 10, LARGE_LIMIT] {
            let query = VectorQuery::new(pseudo_random(1234), limit).with_filter(Some(filter.clone()));
            reference.check_vector_search(&lin(), &query).await.unwrap();
            assert_eq!(world.vectors.search(&lin(), &query).await.unwrap().len(), limit.min(matches));
        }
    }
}

pub async fn a_small_scope_returns_all_its_vectors(world: &World) {
    put_hundred(world).await;
    for number in 1..=3 {
        put_and_embed(world, &numbered(&mo(), number), at_angle(3.0)).await;
    }
    assert_eq!(world.nearest(&mo(), at_angle(0.0)).await, [1, 2, 3].map(id));
}

pub async fn a_new_vector_replaces_the_old_one(world: &World) {
    let (one, two) = (numbered(&lin(), 1), numbered(&lin(), 2));
    put_and_embed(world, &one, at_angle(0.1)).await;
    put_and_embed(world, &two, at_angle(0.2)).await;
    world.embed(&one, at_angle(0.3)).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(2), id(1)]);
    let twice = [entry(world, &two, at_angle(0.1)).await, entry(world, &two, at_angle(0.4)).await];
    world.vectors.upsert(&lin(), &twice).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1), id(2)]);
}

pub async fn deleted_vectors_are_not_found(world: &World) {
    for number in 1..=4 {
        put_and_embed(world, &numbered(&session("a"), number), at_angle(f32::from(number) / 10.0)).await;
    }
    world.vectors.delete(&session("b"), &[id(1)]).await.unwrap();
    world.vectors.delete(&mo(), &[id(1)]).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await.len(), 4, "another scope deletes nothing");
    world.vectors.delete(&lin(), &[id(1), id(99), id(1)]).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [2, 3, 4].map(id));
    world.forget(&session("a"), &[id(4)]).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [2, 3].map(id));
    world.embed(&numbered(&session("a"), 1), at_angle(0.0)).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [1, 2, 3].map(id), "its record still exists");
}

pub async fn a_vector_of_another_dimension_rejects_its_batch(world: &World) {
    let (one, two) = (numbered(&lin(), 1), numbered(&lin(), 2));
    world.put(&[&one, &two]).await;
    for values in [vec![1.0; 7], vec![1.0; 9], vec![1.0; 1]] {
        let odd = Embedding::new(values).unwrap();
        let batch = [entry(world, &one, at_angle(0.1)).await, entry(world, &two, odd.clone()).await];
        assert_error_kind(ErrorKind::DimensionMismatch, world.vectors.upsert(&lin(), &batch).await);
        assert_error_kind(ErrorKind::DimensionMismatch, world.vectors.search(&lin(), &near(odd)).await);
    }
    assert!(world.nearest(&lin(), at_angle(0.0)).await.is_empty());
}

pub async fn vectors_outside_the_scope_are_unauthorized(world: &World) {
    let (lins, mos) = (numbered(&lin(), 1), numbered(&mo(), 2));
    world.put(&[&lins]).await;
    world.put(&[&mos]).await;
    let batch = [entry(world, &lins, at_angle(0.1)).await, entry(world, &mos, at_angle(0.1)).await];
    assert_error_kind(ErrorKind::Unauthorized, world.vectors.upsert(&lin(), &batch).await);
    assert_error_kind(ErrorKind::Unauthorized, world.vectors.upsert(&session("a"), &batch[..1]).await);
    assert!(
        world.nearest(&lin(), at_angle(0.0)).await.is_empty() && world.nearest(&mo(), at_angle(0.0)).await.is_empty()
    );
}

pub async fn vector_search_stays_in_scope(world: &World) {
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let addresses = [session("a"), session("b"), lin(), mo(), tenant];
    for (address, number) in addresses.iter().zip(1..) {
        put_and_embed(world, &numbered(address, number), at_angle(f32::from(number) / 10.0)).await;
    }
    for scope in &addresses {
        let expected: Vec<_> =
            addresses.iter().zip(1..).filter(|(address, _)| scope.covers(address)).map(|(_, n)| id(n)).collect();
        assert_eq!(world.nearest(scope, at_angle(0.0)).await, expected, "{scope}");
    }
    assert!(world.nearest(&Scope::tenant_wide("other").unwrap(), at_angle(0.0)).await.is_empty());
}

pub async fn vector_search_rejects_an_invalid_filter(world: &World) {
    let query = near(at_angle(0.0)).with_filter(Some(Filter::eq(Field::OccurredAt, "monday")));
    assert_error_kind(ErrorKind::InvalidInput, world.vectors.search(&lin(), &query).await);
}

pub async fn a_late_vector_of_a_deleted_record_is_removed(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let pending = world.jobs.claim(Job::Embedding, 1, Duration::from_secs(60)).await.unwrap();
    let late = entry(world, &record, at_angle(0.1)).await;
    world.forget(&lin(), &[id(1)]).await;
    // A worker that holds the old record embeds it, completes the job, and deletes the vector because the job is stale.
    world.vectors.upsert(&lin(), &[late]).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false]);
    world.vectors.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(world.nearest(&lin(), at_angle(0.0)).await.is_empty());
}
