//! Concurrent calls and cancelled calls.

use std::{collections::BTreeSet, time::Duration};

use futures::{future::join_all, pin_mut, poll};
use memory_engine_core::{ErrorKind, Job, Outcome, PutMode, Record, Scope, Write};
use memory_engine_keyword_store::KeywordEntry;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, at_angle, find, id, lin, mo, near, numbered, session, terms, turn},
};

fn with_mode(record: &Record, mode: PutMode) -> Vec<Write> {
    vec![Write { mode, ..Write::upsert(record.clone()) }]
}

pub async fn one_of_many_concurrent_creates_succeeds(world: &World) {
    let record = numbered(&lin(), 1);
    let scope = lin();
    let results = join_all((0..8).map(|_| world.records.put(&scope, with_mode(&record, PutMode::Create)))).await;
    let (succeeded, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((succeeded.len(), failed.len()), (1, 7));
    assert!(failed.iter().all(|r| r.as_ref().is_err_and(|e| e.kind() == ErrorKind::Conflict)), "{failed:?}");
}

pub async fn one_of_many_concurrent_updates_succeeds(world: &World) {
    let scope = lin();
    world.put(&[&numbered(&scope, 1)]).await;
    let change = |n: u8| {
        let mut record = numbered(&lin(), 1);
        record.text = format!("changed by {n}");
        with_mode(&record, PutMode::Update { revision: 1 })
    };
    let results = join_all((0..8).map(|n| world.records.put(&scope, change(n)))).await;
    let succeeded: Vec<_> = (0..8).zip(&results).filter(|(_, result)| result.is_ok()).map(|(n, _)| n).collect();
    let stored = world.stored(&numbered(&lin(), 1)).await.unwrap();
    assert_eq!((succeeded.len(), stored.revision, stored.text), (1, 2, format!("changed by {}", succeeded[0])));
}

pub async fn concurrent_imports_create_one_record(world: &World) {
    let scope = lin();
    let record = numbered(&scope, 1);
    let results = join_all((0..8).map(|_| world.records.put(&scope, with_mode(&record, PutMode::IfAbsent)))).await;
    let outcomes: Vec<_> = results.into_iter().map(|result| result.unwrap().remove(0).outcome).collect();
    assert_eq!(outcomes.iter().filter(|o| **o == Outcome::Created).count(), 1, "{outcomes:?}");
    assert_eq!(world.all(&scope).await.len(), 1);
}

pub async fn a_failed_batch_does_not_affect_concurrent_ones(world: &World) {
    let scope = lin();
    let batch = |n: u8| -> Vec<Write> {
        let mut first = Write::upsert(numbered(&lin(), 2 * n));
        first.terms = Some(terms(["x"]));
        let mut second = Write::upsert(numbered(&lin(), 2 * n + 1));
        second.terms = Some(terms(["x"]));
        if n.is_multiple_of(3) {
            second.mode = PutMode::Update { revision: 7 };
        }
        vec![first, second]
    };
    let results = join_all((0..12).map(|n| world.records.put(&scope, batch(n)))).await;
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.is_err(), n % 3 == 0, "{result:?}");
    }
    let expected: Vec<_> = (0..12).filter(|n| n % 3 > 0).flat_map(|n| [id(2 * n), id(2 * n + 1)]).collect();
    assert_eq!(world.all(&scope).await.iter().map(|r| r.id).collect::<Vec<_>>(), expected);
    let queued = world.jobs.claim(Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap();
    assert_eq!(queued.iter().map(|p| p.record.id).collect::<BTreeSet<_>>(), expected.into_iter().collect());
    assert_eq!(world.records.stats(&scope).await.unwrap().records, 16);
}

pub async fn concurrent_claims_return_different_records(world: &World) {
    let records: Vec<_> = (0..40).map(|n| turn(&lin(), "to be indexed", n)).collect();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    let lease = Duration::from_secs(60);
    let claims = join_all((0..8).map(|_| world.jobs.claim(Job::Embedding, 7, lease))).await;
    let mut claimed: Vec<_> = claims.into_iter().flat_map(Result::unwrap).map(|pending| pending.record.id).collect();
    // Concurrent workers may get fewer items than requested; unclaimed items stay available.
    let unclaimed = world.jobs.claim(Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap();
    claimed.extend(unclaimed.iter().map(|pending| pending.record.id));
    assert_eq!(claimed.len(), 40);
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>().len(), 40, "each job is claimed once");
}

pub async fn a_completed_write_is_visible_to_later_calls(world: &World) {
    for number in 1..=40 {
        let address = session(if number % 2 == 0 { "a" } else { "b" });
        let record = numbered(&address, number);
        world.put(&[&record]).await;
        world.index(&record, terms(["x"])).await;
        world.embed(&record, at_angle(0.1)).await;
        let (scope, words, vector) = (lin(), find(&["x"]), near(at_angle(0.0)));
        let (found, near) = (world.keywords.search(&scope, &words), world.vectors.search(&scope, &vector));
        let ((found, near), all) = futures::join!(async { futures::join!(found, near) }, world.all(&scope));
        let counts = (all.len(), found.unwrap().len(), near.unwrap().len());
        assert_eq!(counts, (number.into(), number.into(), number.into()));
    }
}

/// Polls the call once and drops it. A call that completes in one poll is not cancelled.
macro_rules! cancel {
    ($call:expr) => {{
        let call = $call;
        pin_mut!(call);
        let _ = poll!(call.as_mut());
    }};
}

pub async fn a_cancelled_write_is_atomic(world: &World) {
    let partial_count = async |scope: &Scope| {
        let count = world.all(scope).await.len();
        (count != 0 && count != 50).then_some(count)
    };
    for round in 0..5_u8 {
        let scope = lin().with_session(format!("round {round}")).unwrap();
        let records: Vec<_> = (0..50).map(|n| turn(&scope, "one of a batch", n)).collect();
        cancel!(world.records.put(&scope, records.iter().cloned().map(Write::upsert).collect()));
        // Writes are serialised: when a later one has returned, all earlier ones have ended.
        world.put(&[&numbered(&mo(), round)]).await;
        assert_eq!(partial_count(&scope).await, None);

        world.put(&records.iter().collect::<Vec<_>>()).await;
        let ids: Vec<_> = records.iter().map(|r| r.id).collect();
        let entry = |r: &Record| KeywordEntry { record: r.clone().into(), terms: terms(["x"]) };
        let stored: Vec<_> = world.all(&scope).await.iter().map(entry).collect();
        cancel!(world.keywords.upsert(&scope, &stored));
        world.put(&[&numbered(&mo(), round + 100)]).await;
        let found = world.found(&scope, &["x"]).await.len();
        assert!(found == 0 || found == 50, "{found} of 50 records have terms");

        cancel!(world.records.delete(&scope, &ids));
        world.put(&[&numbered(&mo(), round + 200)]).await;
        assert_eq!(partial_count(&scope).await, None);
        let tombstones = world.records.tombstones(&scope, None, LARGE_LIMIT).await.unwrap().len();
        assert!(tombstones == 0 || tombstones == 50, "{tombstones} of 50 records have tombstones");
    }
}
