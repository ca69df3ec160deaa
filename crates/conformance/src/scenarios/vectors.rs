//! Finding vectors.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{Embedding, ErrorKind, Field, Filter, Job, Pending, Record, Scope};
use memory_engine_vector_store::{VectorEntry, VectorQuery};

use crate::{
    World,
    given::{LARGE_LIMIT, at_angle, fails_with, id, lin, mo, near, numbered, session, vector},
    space,
    twin::Twin,
};

async fn entry(world: &World, record: &Record, embedding: Embedding) -> VectorEntry {
    VectorEntry { record: Arc::new(world.stored(record).await.unwrap()), embedding }
}

async fn remember(world: &World, record: &Record, embedding: Embedding) {
    world.put(&[record]).await;
    world.embed(record, embedding).await;
}

/// Numbers from −1 to 1 that look random and are the same every time.
fn scattered(seed: u32) -> Embedding {
    let value = |i: u32| ((f64::from(seed * 8 + i) * 12.9898).sin() * 43_758.545_3).fract() as f32;
    vector([0, 1, 2, 3, 4, 5, 6, 7].map(value))
}

/// A hundred vectors over three addresses of one user.
async fn cloud<'a>(world: &'a World) -> Twin<'a> {
    let twin = Twin::of(world);
    let places = [session("a"), session("b"), lin()];
    for number in 1..=100_u8 {
        let mut record = numbered(&places[usize::from(number % 3)], number);
        record.importance = f64::from(number) / 100.0;
        world.put(&[&record]).await;
        twin.embed(&record, scattered(number.into())).await;
    }
    twin
}

pub async fn the_space_is_the_one_it_was_opened_with(world: &World) {
    assert_eq!(world.vectors.space(), &space());
}

pub async fn scores_are_cosines_best_first(world: &World) {
    for (number, angle) in [(1, 3.1), (2, 0.5), (3, 0.0), (4, 1.6), (5, -1.0)] {
        remember(world, &numbered(&lin(), number), at_angle(angle)).await;
    }
    let hits = world.vectors.search(&lin(), &near(at_angle(0.0))).await.unwrap();
    let expected = [(3, 0.0), (2, 0.5), (5, 1.0), (4, 1.6), (1, 3.1_f64)];
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected.map(|(n, _)| id(n)));
    for (hit, (_, angle)) in hits.iter().zip(expected) {
        assert!((hit.score.value() - angle.cos()).abs() < 1e-5, "{} is not {}", hit.score, angle.cos());
    }
}

pub async fn the_length_of_a_vector_does_not_matter(world: &World) {
    for (number, scale) in [(1, 1e-12_f32), (2, 1.0), (3, 1e12)] {
        let long = at_angle(0.5).values().iter().map(|v| v * scale).collect();
        remember(world, &numbered(&lin(), number), Embedding::new(long).unwrap()).await;
    }
    for scale in [1e-12_f32, 1.0, 1e12] {
        let query = Embedding::new(at_angle(0.0).values().iter().map(|v| v * scale).collect()).unwrap();
        let hits = world.vectors.search(&lin(), &near(query)).await.unwrap();
        assert_eq!(hits.len(), 3);
        assert!(hits.iter().all(|hit| (hit.score.value() - 0.5_f64.cos()).abs() < 1e-5), "{hits:?}");
    }
}

pub async fn a_search_finds_what_an_exact_one_finds(world: &World) {
    let twin = cloud(world).await;
    for seed in 1000..1010 {
        for (scope, limit) in
            [(lin(), 1), (lin(), 10), (lin(), LARGE_LIMIT), (session("a"), 5), (session("b"), LARGE_LIMIT)]
        {
            let query = VectorQuery::new(scattered(seed), limit);
            twin.same_nearest(&scope, &query).await.unwrap();
        }
    }
}

pub async fn equal_scores_go_by_id_and_the_limit_of_nearest_ones_holds(world: &World) {
    for number in [5, 2, 4, 1, 3] {
        remember(world, &numbered(&lin(), number), at_angle(1.0)).await;
    }
    for limit in [0, 1, 3, 5, 9, usize::MAX] {
        let hits = world.vectors.search(&lin(), &VectorQuery::new(at_angle(0.0), limit)).await.unwrap();
        let expected: Vec<_> = (1..=5).take(limit).map(id).collect();
        assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected);
    }
}

pub async fn a_filter_that_keeps_few_still_gives_as_many_as_there_are(world: &World) {
    let twin = cloud(world).await;
    for (least, kept) in [(0.1, 91), (0.9, 11), (0.96, 5), (1.0, 1), (2.0, 0)] {
        let filter = Filter::compare(Field::Importance, memory_engine_core::Op::Ge, least);
        for limit in [3, 10, LARGE_LIMIT] {
            let query = VectorQuery::new(scattered(1234), limit).with_filter(Some(filter.clone()));
            twin.same_nearest(&lin(), &query).await.unwrap();
            assert_eq!(world.vectors.search(&lin(), &query).await.unwrap().len(), limit.min(kept));
        }
    }
}

pub async fn a_small_scope_among_many_vectors_gives_all_of_its_own(world: &World) {
    cloud(world).await;
    for number in 1..=3 {
        remember(world, &numbered(&mo(), number), at_angle(3.0)).await;
    }
    assert_eq!(world.nearest(&mo(), at_angle(0.0)).await, [1, 2, 3].map(id));
}

pub async fn a_new_vector_takes_the_place_of_the_old_one(world: &World) {
    let (one, two) = (numbered(&lin(), 1), numbered(&lin(), 2));
    remember(world, &one, at_angle(0.1)).await;
    remember(world, &two, at_angle(0.2)).await;
    world.embed(&one, at_angle(0.3)).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(2), id(1)]);
    let twice = [entry(world, &two, at_angle(0.1)).await, entry(world, &two, at_angle(0.4)).await];
    world.vectors.upsert(&lin(), &twice).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1), id(2)]);
}

pub async fn deleted_vectors_are_not_found(world: &World) {
    for number in 1..=4 {
        remember(world, &numbered(&session("a"), number), at_angle(f32::from(number) / 10.0)).await;
    }
    world.vectors.delete(&session("b"), &[id(1)]).await.unwrap();
    world.vectors.delete(&mo(), &[id(1)]).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await.len(), 4, "another scope deletes nothing");
    world.vectors.delete(&lin(), &[id(1), id(99), id(1)]).await.unwrap();
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [2, 3, 4].map(id));
    world.forget(&session("a"), &[id(4)]).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [2, 3].map(id));
    world.embed(&numbered(&session("a"), 1), at_angle(0.0)).await;
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [1, 2, 3].map(id), "its record is still there");
}

pub async fn a_vector_of_another_length_is_refused_with_its_batch(world: &World) {
    let (one, two) = (numbered(&lin(), 1), numbered(&lin(), 2));
    world.put(&[&one, &two]).await;
    for values in [vec![1.0; 7], vec![1.0; 9], vec![1.0; 1]] {
        let odd = Embedding::new(values).unwrap();
        let batch = [entry(world, &one, at_angle(0.1)).await, entry(world, &two, odd.clone()).await];
        fails_with(ErrorKind::DimensionMismatch, world.vectors.upsert(&lin(), &batch).await);
        fails_with(ErrorKind::DimensionMismatch, world.vectors.search(&lin(), &near(odd)).await);
    }
    assert!(world.nearest(&lin(), at_angle(0.0)).await.is_empty());
}

pub async fn a_vector_outside_the_scope_is_unauthorized_and_none_of_its_batch_is_kept(world: &World) {
    let (lins, mos) = (numbered(&lin(), 1), numbered(&mo(), 2));
    world.put(&[&lins]).await;
    world.put(&[&mos]).await;
    let batch = [entry(world, &lins, at_angle(0.1)).await, entry(world, &mos, at_angle(0.1)).await];
    fails_with(ErrorKind::Unauthorized, world.vectors.upsert(&lin(), &batch).await);
    fails_with(ErrorKind::Unauthorized, world.vectors.upsert(&session("a"), &batch[..1]).await);
    assert!(
        world.nearest(&lin(), at_angle(0.0)).await.is_empty() && world.nearest(&mo(), at_angle(0.0)).await.is_empty()
    );
}

pub async fn vectors_are_found_only_within_the_scope(world: &World) {
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let places = [session("a"), session("b"), lin(), mo(), tenant];
    for (address, number) in places.iter().zip(1..) {
        remember(world, &numbered(address, number), at_angle(f32::from(number) / 10.0)).await;
    }
    for scope in &places {
        let expected: Vec<_> =
            places.iter().zip(1..).filter(|(address, _)| scope.covers(address)).map(|(_, n)| id(n)).collect();
        assert_eq!(world.nearest(scope, at_angle(0.0)).await, expected, "{scope}");
    }
    assert!(world.nearest(&Scope::tenant_wide("other").unwrap(), at_angle(0.0)).await.is_empty());
}

pub async fn a_senseless_filter_is_refused_by_a_search_for_vectors(world: &World) {
    let query = near(at_angle(0.0)).with_filter(Some(Filter::eq(Field::OccurredAt, "monday")));
    fails_with(ErrorKind::InvalidInput, world.vectors.search(&lin(), &query).await);
}

pub async fn a_late_vector_of_a_deleted_record_does_not_come_back(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let pending = world.jobs.claim(Job::Embedding, 1, Duration::from_secs(60)).await.unwrap();
    let late = entry(world, &record, at_angle(0.1)).await;
    world.forget(&lin(), &[id(1)]).await;
    // The worker did not know, and does what a worker does: it indexes, acknowledges, and takes back what was stale.
    world.vectors.upsert(&lin(), &[late]).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false]);
    world.vectors.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(world.nearest(&lin(), at_angle(0.0)).await.is_empty());
}
