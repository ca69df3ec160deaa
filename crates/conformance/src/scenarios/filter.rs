//! Every backend evaluates filters like `Filter::matches`.

use memory_engine_core::{Field, Filter, FilterValue, Op, Record, ScanQuery, Scope, State, Write};
use proptest::strategy::Strategy;
use serde_json::json;

use crate::{
    World,
    arbitrary::{filters, records},
    cases::{CaseResult, ensure, for_all},
    fixtures::{LARGE_LIMIT, at_angle, find, id, lin, near, numbered, terms},
};

/// Writes the records. Indexes each active one under the same word and a vector in the order of their positions.
async fn put_and_index(world: &World, scope: &Scope, records: &[Record]) -> CaseResult {
    world.records.put(scope, records.iter().cloned().map(Write::upsert).collect()).await?;
    for (record, n) in records.iter().zip(0_u8..).filter(|(record, _)| record.state == State::Active) {
        world.index(record, terms(["word"])).await;
        world.embed(record, at_angle(f32::from(n) / 20.0)).await;
    }
    Ok(())
}

/// Checks that scan, keyword and vector search return exactly the records that `matches` accepts.
async fn check_filter(world: &World, scope: &Scope, records: &[Record], filter: &Filter) -> CaseResult {
    let mut expected: Vec<_> = records.iter().filter(|r| filter.matches(r)).map(|r| r.id).collect();
    let query = ScanQuery::oldest(LARGE_LIMIT).with_filter(filter.clone());
    let scanned = world.records.scan(scope, &query).await?.records;
    let mut found: Vec<_> = scanned.iter().map(|r| r.id).collect();
    expected.sort();
    found.sort();
    ensure!(found == expected, "the scan returns {found:?} instead of {expected:?} for {filter:?}");

    let is_active = |id: &memory_engine_core::RecordId| records.iter().any(|r| r.id == *id && r.state == State::Active);
    expected.retain(is_active);
    let words = world.keywords.search(scope, &find(&["word"]).with_filter(Some(filter.clone()))).await?;
    let mut found: Vec<_> = words.iter().map(|hit| hit.id).collect();
    found.sort();
    ensure!(found == expected, "keyword search returns {found:?} instead of {expected:?} for {filter:?}");

    let vectors = world.vectors.search(scope, &near(at_angle(0.0)).with_filter(Some(filter.clone()))).await?;
    let in_order: Vec<_> = vectors.iter().map(|hit| hit.id).collect();
    ensure!(in_order == expected, "vector search returns {in_order:?} instead of {expected:?} for {filter:?}");
    Ok(())
}

pub async fn random_filters_agree_with_matches(world: &World) {
    let cases = (records(12), filters(24)).prop_map(|(records, filters)| FilterCase { records, filters });
    for_all(cases, async |tenant, case| {
        let scope = Scope::tenant_wide(tenant)?;
        let mut records = Vec::new();
        for (address, record) in &case.records {
            let mut record = record.clone();
            record.scope = address.in_tenant(tenant);
            records.push(record);
        }
        put_and_index(world, &scope, &records).await?;
        for filter in &case.filters {
            check_filter(world, &scope, &records, filter).await?;
        }
        Ok(())
    })
    .await;
}

#[derive(Debug)]
struct FilterCase {
    records: Vec<(crate::arbitrary::RandomAddress, Record)>,
    filters: Vec<Filter>,
}

/// Checks every filter and its negation on `record` and on a record without optional fields.
async fn check_filters(world: &World, record: Record, filters: &[Filter]) {
    let records = [record, numbered(&lin(), 2)];
    put_and_index(world, &lin(), &records).await.unwrap();
    for filter in filters.iter().cloned().chain(filters.iter().cloned().map(|f| Filter::Not(Box::new(f)))) {
        check_filter(world, &lin(), &records, &filter).await.unwrap();
    }
}

fn key(name: &str) -> Field {
    Field::Metadata(name.into())
}

pub async fn a_negated_condition_on_a_missing_field_is_true(world: &World) {
    let mut record = numbered(&lin(), 1);
    record.scene = Some("plot".into());
    record.tags = vec!["btc".into()];
    record.source.round = Some(3);
    record.metadata.insert("mood".into(), json!("glad"));
    let filters = [
        Filter::eq(Field::Scene, "plot"),
        Filter::compare(Field::Scene, Op::Lt, "zzz"),
        Filter::In(Field::Scene, vec!["plot".into(), "daily".into()]),
        Filter::eq(Field::Tags, "btc"),
        Filter::compare(Field::Round, Op::Ge, 1),
        Filter::eq(key("mood"), "glad"),
        Filter::Exists(key("mood")),
        Filter::Exists(Field::Tags),
        Filter::compare(Field::ValidUntil, Op::Le, memory_engine_core::Timestamp::from_micros(0)),
    ];
    check_filters(world, record, &filters).await;
}

pub async fn empty_and_is_true_and_empty_or_is_false(world: &World) {
    let empty =
        [Filter::And(vec![]), Filter::Or(vec![]), Filter::In(Field::Kind, vec![]), Filter::In(key("a"), vec![])];
    check_filters(world, numbered(&lin(), 1), &empty).await;
}

pub async fn json_types_are_not_coerced(world: &World) {
    let mut record = numbered(&lin(), 1);
    let values = json!({
        "yes": true, "one": 1, "text": "1", "true": "true", "none": null, "list": [true, 1, "x", null, [7], {"a": 8}],
        "empty": [], "object": {"a": 1}, "a.b": 5, "a": {"b": 6}, "big": u64::MAX, "odd": (1_u64 << 53) + 1,
    });
    record.metadata = values.as_object().unwrap().clone();
    let keys = ["yes", "one", "text", "true", "none", "list", "empty", "object", "a.b", "a", "big", "odd", "missing"];
    let literals: Vec<FilterValue> = vec![
        true.into(),
        false.into(),
        1.into(),
        0.into(),
        "1".into(),
        "true".into(),
        "x".into(),
        "null".into(),
        5.into(),
        6.into(),
        7.into(),
        8.into(),
        18_446_744_073_709_551_615.0.into(),
        9_007_199_254_740_992.0.into(),
        "".into(),
    ];
    let mut filters: Vec<_> = keys.iter().map(|name| Filter::Exists(key(name))).collect();
    for name in keys {
        filters.extend(literals.iter().map(|value| Filter::eq(key(name), value.clone())));
        filters.push(Filter::In(key(name), literals.clone()));
        for op in [Op::Lt, Op::Ge] {
            filters.extend(["1", ""].map(|value| Filter::compare(key(name), op, value)));
            filters.extend([1.0, 7.5].map(|value| Filter::compare(key(name), op, value)));
        }
    }
    check_filters(world, record, &filters).await;
}

pub async fn integers_are_compared_as_floats(world: &World) {
    // Above 2^53, several integers have the same floating-point value.
    let sequences = [1 << 53, (1 << 53) + 1, (1 << 53) + 2, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, -1, 0];
    let mut records = Vec::new();
    for (sequence, number) in sequences.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        record.source.sequence = Some(*sequence);
        record.metadata.insert("n".into(), json!(sequence));
        records.push(record);
    }
    records.push(numbered(&lin(), 10));
    put_and_index(world, &lin(), &records).await.unwrap();
    for sequence in sequences {
        for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
            for field in [Field::Sequence, key("n")] {
                check_filter(world, &lin(), &records, &Filter::compare(field, op, sequence as f64)).await.unwrap();
            }
        }
        let is_in = Filter::In(Field::Sequence, vec![FilterValue::Number(sequence as f64), 0.5.into()]);
        check_filter(world, &lin(), &records, &is_in).await.unwrap();
    }
}

pub async fn texts_are_compared_bytewise(world: &World) {
    let texts = ["a", "B", "b", "é", "e\u{301}", "ä", "z", "雨", "\u{ffee}", "😀", "", "a ", "A"];
    let mut records = Vec::new();
    for (text, number) in texts.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        (record.scene, record.tags) = (Some((*text).into()), vec![(*text).into()]);
        record.metadata.insert("k".into(), json!(text));
        records.push(record);
    }
    put_and_index(world, &lin(), &records).await.unwrap();
    for text in texts {
        for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
            for field in [Field::Scene, key("k")] {
                check_filter(world, &lin(), &records, &Filter::compare(field, op, text)).await.unwrap();
            }
        }
        check_filter(world, &lin(), &records, &Filter::eq(Field::Tags, text)).await.unwrap();
    }
}

pub async fn the_deepest_and_widest_filters_are_accepted(world: &World) {
    let mut deep = Filter::eq(Field::Scene, "plot");
    for level in 1..Filter::MAX_DEPTH {
        deep = match level % 3 {
            0 => Filter::And(vec![deep]),
            1 => Filter::Not(Box::new(deep)),
            _ => Filter::Or(vec![deep, Filter::Or(vec![])]),
        };
    }
    let ids = (0..Filter::MAX_LEAVES).map(|n| FilterValue::from(id((n % 200) as u8).to_string())).collect();
    let kinds = (0..Filter::MAX_LEAVES - 1).map(|n| Filter::eq(Field::Kind, format!("kind {n}"))).collect();
    let numbers = (0..Filter::MAX_LEAVES).map(|n| FilterValue::from(n as f64)).collect();
    let mut record = numbered(&lin(), 1);
    record.scene = Some("plot".into());
    record.metadata.insert("n".into(), json!([999, "x"]));
    let wide = [Filter::In(Field::Id, ids), Filter::Or(kinds), Filter::In(key("n"), numbers)];
    let filters: Vec<_> = wide.into_iter().chain([deep]).collect();
    filters.iter().for_each(|filter| filter.validate().unwrap());
    let records = [record, numbered(&lin(), 2)];
    put_and_index(world, &lin(), &records).await.unwrap();
    for filter in &filters {
        check_filter(world, &lin(), &records, filter).await.unwrap();
    }
}

pub async fn a_filter_cannot_widen_the_scope(world: &World) {
    let sessions = [lin().with_session("a").unwrap(), lin().with_session("b").unwrap()];
    let mut records = Vec::new();
    for number in 1..=8_u8 {
        let mut record = numbered(&sessions[usize::from(number % 2)], number);
        record.scene = (number > 4).then(|| "plot".into());
        records.push(record);
    }
    put_and_index(world, &lin(), &records).await.unwrap();
    // An `Or` must not match records outside the scope.
    let open = Filter::Or(vec![Filter::eq(Field::Scene, "plot"), Filter::eq(Field::Session, "a"), Filter::And(vec![])]);
    for session in &sessions {
        let own: Vec<_> = records.iter().filter(|r| session.covers(&r.scope)).cloned().collect();
        check_filter(world, session, &own, &open).await.unwrap();
        check_filter(world, session, &own, &Filter::eq(Field::Session, "a")).await.unwrap();
    }
    let unknown_user = Scope::user("unknown").unwrap();
    check_filter(world, &unknown_user, &[], &open).await.unwrap();
}
