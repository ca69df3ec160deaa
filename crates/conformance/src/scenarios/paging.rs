//! Scans in pages.

use memory_engine_core::{Cursor, ErrorKind, Field, Filter, Order, Record, RecordId, ScanQuery, Timestamp};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, id, lin, mo, numbered, session},
};

/// Ten records with only three times. Some have equal sequence numbers, and no single field has their order.
fn records_with_equal_times() -> Vec<Record> {
    let positions = [
        (0, None),
        (0, Some(0)),
        (0, Some(-1)),
        (-5, Some(i64::MAX)),
        (0, Some(1)),
        (7, Some(i64::MIN)),
        (7, None),
        (-5, Some(i64::MAX)),
        (7, Some(-1)),
        (-5, None),
    ];
    let records = positions.iter().zip(1..).map(|((micros, sequence), number)| {
        let mut record = numbered(&lin(), 11 - number);
        record.occurred_at = Timestamp::from_micros(*micros);
        record.source.sequence = *sequence;
        record
    });
    records.collect()
}

fn ids<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<RecordId> {
    records.into_iter().map(|r| r.id).collect()
}

/// Returns the ids of all pages. Checks that every page but the last is full.
async fn walk(world: &World, query: &ScanQuery) -> Vec<RecordId> {
    let mut query = query.clone();
    let mut seen = Vec::new();
    loop {
        let page = world.records.scan(&lin(), &query).await.unwrap();
        seen.extend(ids(&page.records));
        assert!(page.records.len() <= query.limit && seen.len() <= LARGE_LIMIT);
        let Some(next) = page.next else { return seen };
        assert_eq!(page.records.len(), query.limit, "only the last page is short");
        assert_eq!(Some(next), page.records.last().map(Cursor::at));
        query.after = Some(next);
    }
}

pub async fn records_are_ordered_by_time_sequence_and_id(world: &World) {
    let mut records = records_with_equal_times();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    records.sort_by_key(Record::position);
    let oldest = world.records.scan(&lin(), &ScanQuery::oldest(LARGE_LIMIT)).await.unwrap();
    assert_eq!((ids(&oldest.records), oldest.next), (ids(&records), None));
    let newest = world.records.scan(&lin(), &ScanQuery::newest(LARGE_LIMIT)).await.unwrap();
    assert_eq!((ids(&newest.records), newest.next), (ids(records.iter().rev()), None));
}

pub async fn pages_over_equal_times_are_complete_and_disjoint(world: &World) {
    let mut records = records_with_equal_times();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    records.sort_by_key(Record::position);
    for limit in 1..=11 {
        assert_eq!(walk(world, &ScanQuery::oldest(limit)).await, ids(&records), "pages of {limit}");
        assert_eq!(walk(world, &ScanQuery::newest(limit)).await, ids(records.iter().rev()), "pages of {limit}");
    }
}

pub async fn a_limit_of_zero_returns_an_empty_page(world: &World) {
    world.put(&[&numbered(&lin(), 1)]).await;
    for query in [ScanQuery::oldest(0), ScanQuery::newest(0)] {
        let page = world.records.scan(&lin(), &query).await.unwrap();
        assert_eq!((page.records.len(), page.next), (0, None));
    }
}

pub async fn a_full_last_page_has_no_next_cursor(world: &World) {
    let records: Vec<_> = (1..=4).map(|n| numbered(&lin(), n)).collect();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    let first = world.records.scan(&lin(), &ScanQuery::oldest(2)).await.unwrap();
    let last = world.records.scan(&lin(), &ScanQuery::oldest(2).with_after(first.next)).await.unwrap();
    assert_eq!((ids(&last.records), last.next), (vec![id(3), id(4)], None));
    let beyond = ScanQuery::oldest(2).with_after(Some(Cursor::at(&records[3])));
    assert_eq!(world.records.scan(&lin(), &beyond).await.unwrap(), Default::default());
}

pub async fn a_page_can_skip_records_and_count_the_total(world: &World) {
    let mut records: Vec<_> = (1..=9).map(|n| numbered(&[session("a"), lin()][usize::from(n) % 2], n)).collect();
    records[4].scene = Some("plot".into());
    world.put(&records.iter().collect::<Vec<_>>()).await;
    let filter = Filter::ne(Field::Scene, "plot");
    let all = ids(records.iter().filter(|r| filter.matches(r)));
    let scan = async |query: ScanQuery| world.records.scan(&lin(), &query.with_filter(filter.clone())).await.unwrap();
    for skip in 0..=10 {
        let page = scan(ScanQuery::oldest(3).with_skip(skip).counted()).await;
        let expected_page: Vec<_> = all.iter().copied().skip(skip).take(3).collect();
        assert_eq!((ids(&page.records), page.total), (expected_page, Some(8)), "skip {skip}");
        assert_eq!(page.next.is_some(), skip + 3 < 8);
        let back = scan(ScanQuery::newest(3).with_skip(skip)).await;
        let expected_page: Vec<_> = all.iter().copied().rev().skip(skip).take(3).collect();
        assert_eq!((ids(&back.records), back.total), (expected_page, None), "the total was not requested");
    }
    let second = scan(ScanQuery::oldest(2).with_after(Some(Cursor::at(&records[1]))).with_skip(1).counted()).await;
    assert_eq!((ids(&second.records), second.total), (vec![id(4), id(6)], Some(8)));
    let none = scan(ScanQuery::oldest(0).counted()).await;
    assert_eq!((none.records.len(), none.next, none.total), (0, None, Some(8)));
    let narrow = world.records.scan(&session("a"), &ScanQuery::newest(1).counted()).await.unwrap();
    assert_eq!((ids(&narrow.records), narrow.total), (vec![id(8)], Some(4)));
    let other_user = world.records.scan(&mo(), &ScanQuery::newest(1).counted()).await.unwrap();
    assert_eq!((other_user.records.len(), other_user.total), (0, Some(0)));
}

pub async fn filtered_pages_are_full(world: &World) {
    let mut records: Vec<_> = (1..=20).map(|n| numbered(&lin(), n)).collect();
    for record in records.iter_mut().step_by(3) {
        record.scene = Some("plot".into());
    }
    world.put(&records.iter().collect::<Vec<_>>()).await;
    let filter = Filter::eq(Field::Scene, "plot");
    let expected = ids(records.iter().filter(|r| filter.matches(r)));
    for limit in 1..=7 {
        assert_eq!(walk(world, &ScanQuery::oldest(limit).with_filter(filter.clone())).await, expected);
    }
    let exact = ScanQuery::oldest(7).with_filter(filter.clone());
    assert_eq!(world.records.scan(&lin(), &exact).await.unwrap().next, None);
    let back: Vec<_> = expected.into_iter().rev().collect();
    assert_eq!(walk(world, &ScanQuery::newest(2).with_filter(filter)).await, back);
}

pub async fn a_cursor_survives_deletion_of_its_record(world: &World) {
    let records: Vec<_> = (1..=5).map(|n| numbered(&lin(), n)).collect();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    let after = Some(Cursor::at(&records[2]));
    world.forget(&lin(), &[id(3)]).await;
    let later = world.records.scan(&lin(), &ScanQuery::oldest(9).with_after(after)).await.unwrap();
    assert_eq!(ids(&later.records), [id(4), id(5)]);
    let earlier = world.records.scan(&lin(), &ScanQuery::newest(9).with_after(after)).await.unwrap();
    assert_eq!(ids(&earlier.records), [id(2), id(1)]);
}

pub async fn pages_cover_all_addresses_in_scope(world: &World) {
    let addresses = [session("a"), session("b"), lin()];
    let records: Vec<_> = (1..=9).map(|n| numbered(&addresses[usize::from(n) % 3], n)).collect();
    world.put(&records.iter().collect::<Vec<_>>()).await;
    assert_eq!(walk(world, &ScanQuery::oldest(2)).await, ids(&records));
    let mut query = ScanQuery::oldest(2);
    query.order = Order::NewestFirst;
    let page = world.records.scan(&session("a"), &query).await.unwrap();
    assert_eq!(ids(&page.records), [id(9), id(6)]);
    let rest = world.records.scan(&session("a"), &query.with_after(page.next)).await.unwrap();
    assert_eq!((ids(&rest.records), rest.next), (vec![id(3)], None));
}

pub async fn a_scan_returns_records_of_every_state(world: &World) {
    let states = memory_engine_core::State::ALL;
    for (state, number) in states.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        record.state = *state;
        world.put(&[&record]).await;
    }
    assert_eq!(walk(world, &ScanQuery::oldest(3)).await.len(), states.len());
}

pub async fn scan_rejects_an_invalid_filter(world: &World) {
    for filter in [Filter::eq(Field::Kind, 3.0), Filter::eq(Field::Metadata("a\"b".into()), "x")] {
        let query = ScanQuery::oldest(1).with_filter(filter);
        assert_error_kind(ErrorKind::InvalidInput, world.records.scan(&lin(), &query).await);
    }
}
