//! Groups of records always equal those counted from the records.

use std::time::Duration;

use memory_engine_core::{
    Clock, Kind, Periods, Record, RecordGroup, ScanQuery, Scope, State, Timestamp, Tombstone, Write,
};
use serde_json::json;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, mo, numbered, session},
};

/// Returns the start, kind and number of the counts in a scope, after comparing them with its records.
async fn period_counts(world: &World, scope: &Scope, periods: Periods) -> Vec<(Timestamp, String, u64)> {
    let records = world.records.scan(scope, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap().records;
    let counts = world.records.period_counts(scope, periods).await.unwrap();
    assert_eq!(counts, periods.count(&records), "{scope}");
    counts.into_iter().map(|count| (count.start, count.kind.as_str().to_owned(), count.records)).collect()
}

fn tenant() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

/// Returns the groups in the scope, after comparing the groups of all wider scopes with their records.
async fn groups(world: &World, scope: &Scope) -> Vec<RecordGroup> {
    for wider in [&tenant(), &lin(), &mo(), scope] {
        let records = world.records.scan(wider, &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap().records;
        assert_eq!(world.records.record_groups(wider).await.unwrap(), RecordGroup::collect(&records), "{wider}");
    }
    world.records.record_groups(scope).await.unwrap()
}

/// Returns the counts of the groups in the scope.
async fn counts(world: &World, scope: &Scope) -> Vec<u64> {
    groups(world, scope).await.iter().map(|group| group.records).collect()
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn of_app(number: u8, app: &str) -> Record {
    let mut record = numbered(&session("a"), number);
    record.metadata.insert(RecordGroup::APP_KEY.into(), app.into());
    record
}

pub async fn a_group_has_one_address_kind_state_and_application(world: &World) {
    assert_eq!(groups(world, &tenant()).await, []);
    let mut records: Vec<_> = (1..=6).map(|number| numbered(&session("a"), number)).collect();
    records[1].kind = Kind::new("dream");
    records[2].state = State::Superseded;
    records[3].scope = session("b");
    records[4] = of_app(5, "shop");
    let other = numbered(&mo(), 9);
    world.put(&records.iter().collect::<Vec<_>>()).await;
    world.put(&[&other]).await;

    let group = |record: &Record, records, newest| {
        let app = record.metadata.get(RecordGroup::APP_KEY).and_then(|app| app.as_str()).map(str::to_owned);
        let (scope, kind) = (record.scope.clone(), record.kind.clone());
        RecordGroup::new(scope, kind, record.state, records, record.occurred_at).with_newest(newest).with_app(app)
    };
    let single = |record: &Record| group(record, 1, record.occurred_at);
    let of_a = [single(&records[1]), group(&records[0], 2, seconds(6)), single(&records[4]), single(&records[2])];
    assert_eq!(groups(world, &session("a")).await, of_a);
    let of_lin = [&of_a[..], &[single(&records[3])]].concat();
    assert_eq!(groups(world, &lin()).await, of_lin);
    assert_eq!(groups(world, &tenant()).await, [&of_lin[..], &[single(&other)]].concat());
    let unknown = Scope::tenant_wide("unknown").unwrap();
    assert_eq!(world.records.record_groups(&unknown).await.unwrap(), []);
}

pub async fn groups_follow_deletions(world: &World) {
    let records: Vec<_> = (1..=5).map(|number| numbered(&session("a"), number)).collect();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    for (deleted, expected) in
        [(vec![3], Some((4, 1, 5))), (vec![1], Some((3, 2, 5))), (vec![5, 4], Some((1, 2, 2))), (vec![2], None)]
    {
        world.forget(&lin(), &deleted.into_iter().map(id).collect::<Vec<_>>()).await;
        let group = groups(world, &session("a")).await.pop();
        let expected = expected.map(|(records, oldest, newest)| (records, seconds(oldest), seconds(newest)));
        assert_eq!(group.map(|group| (group.records, group.oldest, group.newest)), expected);
    }
    world.put(&[&numbered(&session("a"), 6)]).await;
    assert_eq!(counts(world, &lin()).await, [1], "a new group replaces the removed one");
}

pub async fn groups_follow_derived_records_and_imported_tombstones(world: &World) {
    let source = numbered(&session("a"), 1);
    let mut derived = numbered(&lin(), 2);
    derived.derived_from = vec![source.id];
    let other = numbered(&session("a"), 3);
    world.put(&[&source, &derived, &other]).await;
    assert_eq!(counts(world, &lin()).await, [1, 2]);
    world.forget(&lin(), &[source.id]).await;
    assert_eq!(counts(world, &lin()).await, [1], "the derived record is deleted, too");
    let tombstone = Tombstone::new(other.id, other.scope.clone(), other.content_hash(), world.clock.now());
    world.records.import_tombstones(&lin(), &[tombstone]).await.unwrap();
    assert_eq!(counts(world, &lin()).await, [0; 0]);
    world.put(&[&other]).await;
    assert_eq!(counts(world, &lin()).await, [0; 0], "a blocked write is not counted");
}

pub async fn groups_follow_changes_of_records(world: &World) {
    let mut records = [numbered(&session("a"), 1), numbered(&session("a"), 2), of_app(3, "shop")];
    world.put(&records.iter().collect::<Vec<_>>()).await;
    assert_eq!(counts(world, &lin()).await, [2, 1]);
    records[1].state = State::Revoked;
    world.put(&[&records[1]]).await;
    assert_eq!(counts(world, &lin()).await, [1, 1, 1]);
    records[1].state = State::Active;
    records[1].kind = Kind::FACT;
    records[2].metadata.insert(RecordGroup::APP_KEY.into(), "post".into());
    world.put(&[&records[1], &records[2]]).await;
    let apps: Vec<_> = groups(world, &lin()).await.into_iter().filter_map(|group| group.app).collect();
    assert_eq!(apps, ["post"]);
    records[1].kind = records[0].kind.clone();
    records[2].metadata.clear();
    world.put(&[&records[1], &records[2]]).await;
    assert_eq!(counts(world, &lin()).await, [3]);
    records[0].occurred_at = seconds(7);
    world.put(&[&records[0]]).await;
    let group = groups(world, &lin()).await.remove(0);
    assert_eq!((group.oldest, group.newest), (seconds(2), seconds(7)));
}

pub async fn groups_have_the_latest_edit(world: &World) {
    let mut records = [1, 2, 3].map(|number| numbered(&session("a"), number));
    let edited_at = async || groups(world, &lin()).await.pop().unwrap().edited_at;
    world.put(&records.iter().collect::<Vec<_>>()).await;
    assert_eq!(edited_at().await, None);
    for (record, edited) in records.iter_mut().zip([50, 70, 60]) {
        record.metadata.insert(RecordGroup::EDITED_KEY.into(), (edited * 1_000_000).into());
        world.put(&[record]).await;
    }
    assert_eq!(edited_at().await, Some(seconds(70)));
    world.forget(&lin(), &[id(2)]).await;
    assert_eq!(edited_at().await, Some(seconds(60)));
    records[2].metadata.clear();
    world.put(&[&records[2]]).await;
    assert_eq!(edited_at().await, Some(seconds(50)));
    world.forget(&lin(), &[id(1)]).await;
    assert_eq!(edited_at().await, None);
}

/// Values that are no text or no time are ignored, and no text is too long.
pub async fn groups_accept_any_metadata(world: &World) {
    let long = "长".repeat(5000);
    let apps = [json!(null), json!(7), json!(["shop"]), json!(""), json!("a \"b\" \\ 店\n"), json!(long)];
    let edits = [json!("7"), json!(true), json!(1.5), json!(u64::MAX), json!(-7), json!(i64::MAX)];
    let mut writes = Vec::new();
    for (number, (app, edited)) in (1..).zip(apps.into_iter().zip(edits)) {
        let mut record = numbered(&session("a"), number);
        record.metadata.insert(RecordGroup::APP_KEY.into(), app);
        record.metadata.insert(RecordGroup::EDITED_KEY.into(), edited);
        writes.push(Write::upsert(record));
    }
    world.records.put(&lin(), writes).await.unwrap();
    let groups = groups(world, &lin()).await;
    let found: Vec<_> = groups.iter().map(|group| (group.app.as_deref(), group.records, group.edited_at)).collect();
    let edited = Some(Timestamp::from_micros(-7));
    assert_eq!(found, [(None, 4, None), (Some("a \"b\" \\ 店\n"), 1, edited), (Some(&*long), 1, None)]);
}

/// A store that removes records one by one must not read the remaining ones each time.
pub async fn groups_follow_a_deletion_of_two_thousand_records(world: &World) {
    let address = session("a");
    let turn = |number: i64| {
        let mut record = crate::fixtures::turn(&address, "one of many", number);
        record.kind = if number % 2 == 0 { Kind::TURN } else { Kind::FACT };
        record
    };
    let records: Vec<_> = (0..2000).map(turn).collect();
    world.records.put(&lin(), records.iter().cloned().map(Write::upsert).collect()).await.unwrap();
    assert_eq!(counts(world, &lin()).await, [1000, 1000]);
    let deleted: Vec<_> = records[..1990].iter().map(|record| record.id).collect();
    world.records.delete(&lin(), &deleted).await.unwrap();
    let groups = groups(world, &lin()).await;
    let times: Vec<_> = groups.iter().map(|group| (group.oldest.as_micros(), group.newest.as_micros())).collect();
    assert_eq!(times, [(1991, 1999), (1990, 1998)]);
}

pub async fn records_are_counted_by_period_and_kind(world: &World) {
    let mut records: Vec<_> = (1..=7).map(|number| numbered(&session("a"), number)).collect();
    records[1].kind = Kind::new("dream");
    records[2].state = State::Superseded;
    records[3].scope = session("b");
    records[6].occurred_at = seconds(-4);
    let other = numbered(&mo(), 9);
    world.put(&records.iter().collect::<Vec<_>>()).await;
    world.put(&[&other]).await;

    // Periods of three seconds: …, −4 to −1, −1 to 2, 2 to 5, 5 to 8, 8 to 11.
    let periods = Periods::new(seconds(2), Duration::from_secs(3)).unwrap();
    let count = |start, kind: &str, records| (seconds(start), kind.to_owned(), records);
    let of_a = [count(-4, "turn", 1), count(-1, "turn", 1), count(2, "dream", 1), count(2, "turn", 1)];
    let of_a = [&of_a[..], &[count(5, "turn", 2)]].concat();
    assert_eq!(period_counts(world, &session("a"), periods).await, of_a);
    let mut of_lin = of_a.clone();
    of_lin[3].2 = 2;
    assert_eq!(period_counts(world, &lin(), periods).await, of_lin);
    let of_tenant = [&of_lin[..], &[count(8, "turn", 1)]].concat();
    assert_eq!(period_counts(world, &tenant(), periods).await, of_tenant);
    assert_eq!(period_counts(world, &Scope::tenant_wide("unknown").unwrap(), periods).await, []);
    world.forget(&lin(), &[id(5)]).await;
    assert_eq!(period_counts(world, &session("a"), periods).await.last(), Some(&count(5, "turn", 1)));
}
