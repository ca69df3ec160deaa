//! Writing, reading, deleting and counting records.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{ErrorKind, Job, Kind, Outcome, Pending, RecordId, ScanQuery, Scope, State, Timestamp, Write};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, id, lin, mo, numbered, session, turn},
};

pub async fn new_record_has_revision_one_and_indexing_jobs(world: &World) {
    let record = numbered(&lin(), 1);
    let written = world.put(&[&record]).await.remove(0);
    assert_eq!((written.id, written.outcome, written.revision), (record.id, Outcome::Created, 1));
    assert_eq!(sorted(written.pending), Job::INDEXING);
    let stored = world.stored(&record).await.unwrap();
    assert!(stored.same_content(&record));
    assert_eq!((stored.revision, stored.recorded_at), (1, record.recorded_at));
}

pub async fn get_keeps_request_order_and_marks_missing_records(world: &World) {
    let (one, two) = (numbered(&lin(), 1), numbered(&lin(), 2));
    world.put(&[&one, &two]).await;
    let got = world.records.get(&lin(), &[id(2), id(9), id(1), id(2)]).await.unwrap();
    let ids: Vec<Option<RecordId>> = got.iter().map(|r| r.as_ref().map(|r| r.id)).collect();
    assert_eq!(ids, [Some(id(2)), None, Some(id(1)), Some(id(2))]);
}

pub async fn empty_calls_change_nothing(world: &World) {
    assert_eq!(world.records.put(&lin(), vec![]).await.unwrap(), []);
    assert_eq!(world.records.get(&lin(), &[]).await.unwrap(), []);
    assert_eq!(world.records.delete(&lin(), &[]).await.unwrap().ids, []);
    assert_eq!(world.records.adjacent(&lin(), &[]).await.unwrap(), []);
    assert_eq!(world.records.import_tombstones(&lin(), &[]).await.unwrap(), 0);
    assert_eq!(world.jobs.complete(&[]).await.unwrap(), [] as [bool; 0]);
    assert!(world.all(&lin()).await.is_empty());
    world.keywords.upsert(&lin(), &[]).await.unwrap();
    world.keywords.delete(&lin(), &[]).await.unwrap();
    world.vectors.upsert(&lin(), &[]).await.unwrap();
    world.vectors.delete(&lin(), &[]).await.unwrap();
}

pub async fn an_invalid_record_rejects_its_batch(world: &World) {
    let mut batch: Vec<Write> = (1..=5).map(|n| Write::upsert(numbered(&lin(), n))).collect();
    batch[2].record.text = " \n".into();
    assert_error_kind(ErrorKind::InvalidInput, world.records.put(&lin(), batch).await);
    assert!(world.all(&lin()).await.is_empty());
    assert_eq!(world.records.stats(&lin()).await.unwrap().queued.values().sum::<u64>(), 0);
}

pub async fn invalid_records_are_rejected(world: &World) {
    let valid = numbered(&lin(), 1);
    let mut invalid = vec![valid; 5];
    invalid[0].text = "a\0b".into();
    invalid[1].confidence = f64::NAN;
    invalid[2].importance = 1.1;
    invalid[3].metadata.insert("k".into(), serde_json::json!(["\0"]));
    (invalid[4].valid_from, invalid[4].valid_until) =
        (Some(Timestamp::from_micros(1)), Some(Timestamp::from_micros(0)));
    for record in invalid {
        assert_error_kind(ErrorKind::InvalidInput, world.records.put(&lin(), vec![Write::upsert(record)]).await);
    }
    assert!(world.all(&lin()).await.is_empty());
}

pub async fn a_put_outside_the_scope_is_unauthorized(world: &World) {
    let batch = || vec![Write::upsert(numbered(&lin(), 1)), Write::upsert(numbered(&mo(), 2))];
    assert_error_kind(ErrorKind::Unauthorized, world.records.put(&lin(), batch()).await);
    // An address that is wider than the scope is outside it, too.
    assert_error_kind(ErrorKind::Unauthorized, world.records.put(&session("a"), batch()[..1].to_vec()).await);
    assert_error_kind(ErrorKind::Unauthorized, world.records.put(&Scope::tenant_wide("other").unwrap(), batch()).await);
    assert!(world.all(&lin()).await.is_empty() && world.all(&mo()).await.is_empty());
}

pub async fn a_wider_scope_covers_narrower_addresses(world: &World) {
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let addresses = [tenant.clone(), lin(), session("a"), session("a").with_branch("b").unwrap(), mo()];
    for (address, number) in addresses.iter().zip(1..) {
        world.records.put(&tenant, vec![Write::upsert(numbered(address, number))]).await.unwrap();
    }
    let visible_ids = async |scope: &Scope| world.all(scope).await.iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(visible_ids(&tenant).await, [1, 2, 3, 4, 5].map(id));
    assert_eq!(visible_ids(&lin()).await, [2, 3, 4].map(id));
    assert_eq!(visible_ids(&session("a")).await, [3, 4].map(id));
    assert_eq!(visible_ids(&addresses[3]).await, [id(4)]);
}

pub async fn the_same_id_under_two_users_is_two_records(world: &World) {
    let (lins, mut mos) = (turn(&lin(), "lin's", 1), turn(&mo(), "mo's", 2));
    mos.id = lins.id;
    assert_eq!(world.put(&[&lins]).await[0].outcome, Outcome::Created);
    assert_eq!(world.put(&[&mos]).await[0].outcome, Outcome::Created);
    assert_eq!(world.stored(&lins).await.unwrap().text, "lin's");
    assert_eq!(world.stored(&mos).await.unwrap().text, "mo's");
    assert_eq!(world.forget(&lin(), &[lins.id]).await, [lins.id]);
    assert_eq!(world.stored(&lins).await, None);
    assert_eq!(world.stored(&mos).await.unwrap().text, "mo's");
    mos.text = "mo's again".into();
    assert_eq!(world.put(&[&mos]).await[0].outcome, Outcome::Updated);
}

pub async fn a_record_outside_the_scope_is_invisible(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    let other_scopes = [session("b"), mo(), lin().with_agent("x").unwrap(), Scope::tenant_wide("other").unwrap()];
    for scope in &other_scopes {
        assert_eq!(world.records.get(scope, &[id(1)]).await.unwrap(), [None]);
        assert_eq!(world.records.delete(scope, &[id(1)]).await.unwrap().ids, []);
        assert_eq!(world.records.adjacent(scope, &[id(1)]).await.unwrap(), [Default::default()]);
        assert!(world.all(scope).await.is_empty());
        assert!(world.records.tombstones(scope, None, LARGE_LIMIT).await.unwrap().is_empty());
    }
    assert!(world.stored(&record).await.is_some(), "it was not deleted from another scope");
}

pub async fn similar_names_are_different_scopes(world: &World) {
    let names =
        ["lin", "Lin", "li", "lin%", "l_n", "lin/a", "lin'--", "\"lin\"", "林", "é", "e\u{301}", "null", "*", "🙂"];
    for (name, number) in names.iter().zip(1..) {
        world.put(&[&numbered(&Scope::user(*name).unwrap(), number)]).await;
    }
    for (name, number) in names.iter().zip(1..) {
        let found = world.all(&Scope::user(*name).unwrap()).await;
        assert_eq!(found.iter().map(|r| r.id).collect::<Vec<_>>(), [id(number)], "{name}");
        assert_eq!(found[0].scope.user_name(), Some(*name));
    }
}

pub async fn scope_dimensions_are_not_confused(world: &World) {
    let user = |name: &str| Scope::user(name).unwrap();
    let addresses = [
        user("a").with_agent("b").unwrap(),
        user("a").with_session("b").unwrap(),
        user("a").with_branch("b").unwrap(),
        user("a/b"),
        user("a b"),
        user("a").with_agent("b/c").unwrap(),
        user("a").with_agent("b").unwrap().with_session("c").unwrap(),
        user("a").with_agent("b").unwrap().with_branch("c").unwrap(),
    ];
    for (address, number) in addresses.iter().zip(1..) {
        world.put(&[&numbered(address, number)]).await;
    }
    for address in &addresses {
        let found = world.all(address).await;
        assert!(found.iter().all(|r| address.covers(&r.scope)), "{address}: {found:?}");
        assert_eq!(found.len(), addresses.iter().filter(|other| address.covers(other)).count(), "{address}");
    }
}

pub async fn delete_returns_the_ids_that_existed(world: &World) {
    world.put(&[&numbered(&lin(), 1), &numbered(&lin(), 2), &numbered(&lin(), 3)]).await;
    assert_eq!(world.records.delete(&lin(), &[id(3), id(9), id(1), id(3)]).await.unwrap().ids, [id(3), id(1)]);
    assert_eq!(world.records.delete(&lin(), &[id(3)]).await.unwrap().ids, []);
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(2)]);
}

pub async fn two_thousand_records_fit_in_one_call(world: &World) {
    let records: Vec<_> = (0..2000).map(|n| turn(&lin(), "one of many", n)).collect();
    let ids: Vec<_> = records.iter().map(|r| r.id).collect();
    let writes = records.into_iter().map(Write::upsert).collect();
    assert_eq!(world.records.put(&lin(), writes).await.unwrap().len(), 2000);
    assert!(world.records.get(&lin(), &ids).await.unwrap().iter().all(Option::is_some));
    let adjacent = world.records.adjacent(&lin(), &ids).await.unwrap();
    let ends = (adjacent[1].previous.map(|n| n.id), adjacent[1998].next.map(|n| n.id));
    assert_eq!(ends, (Some(ids[0]), Some(ids[1999])));
    let pending = world.jobs.claim(Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), vec![true; 2000]);
    assert_eq!(world.forget(&lin(), &ids).await, ids);
    assert_eq!(world.records.tombstones(&lin(), None, LARGE_LIMIT).await.unwrap().len(), 2000);
}

pub async fn the_maximum_limit_and_lease_are_accepted(world: &World) {
    world.put(&[&numbered(&lin(), 1)]).await;
    let query = ScanQuery::newest(usize::MAX);
    assert_eq!(world.records.scan(&lin(), &query).await.unwrap().records.len(), 1);
    let lease = Duration::MAX;
    assert_eq!(world.jobs.claim(Job::Embedding, usize::MAX, lease).await.unwrap().len(), 1);
    assert_eq!(world.jobs.claim(Job::Embedding, usize::MAX, lease).await.unwrap().len(), 0);
    world.forget(&lin(), &[id(1)]).await;
    assert_eq!(world.records.tombstones(&lin(), None, usize::MAX).await.unwrap().len(), 1);
}

pub async fn stats_count_the_records_in_scope(world: &World) {
    let mut records: Vec<_> = (1..=4).map(|n| numbered(&session("a"), n)).collect();
    records[1].kind = Kind::new("dream");
    records[2].state = State::Superseded;
    records[3].scope = session("b");
    world.put(&records.iter().collect::<Vec<_>>()).await;
    world.put(&[&numbered(&mo(), 9)]).await;
    world.forget(&lin(), &[id(4)]).await;

    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!((stats.records, stats.addresses, stats.tombstones), (3, 1, 1));
    assert_eq!(counts(&stats.kinds), [("dream".into(), 1), ("turn".into(), 2)]);
    assert_eq!(counts(&stats.states), [("active".into(), 2), ("superseded".into(), 1)]);
    assert_eq!(counts(&stats.queued), [(Job::Keywords, 2), (Job::Embedding, 2)]);
    assert_eq!((stats.oldest, stats.newest), (Some(records[0].occurred_at), Some(records[2].occurred_at)));

    let tenant = world.records.stats(&Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()).await.unwrap();
    assert_eq!((tenant.records, tenant.addresses, tenant.tombstones), (4, 2, 1));
    let nothing = world.records.stats(&session("b")).await.unwrap();
    assert_eq!((nothing.records, nothing.tombstones, nothing.oldest, nothing.newest), (0, 1, None, None));
    assert!(counts(&nothing.kinds).is_empty() && counts(&nothing.queued).is_empty());
}

fn counts<K: Ord + Clone>(counts: &BTreeMap<K, u64>) -> Vec<(K, u64)> {
    counts.iter().filter(|(_, n)| **n > 0).map(|(key, n)| (key.clone(), *n)).collect()
}

fn sorted(mut jobs: Vec<Job>) -> Vec<Job> {
    jobs.sort();
    jobs
}
