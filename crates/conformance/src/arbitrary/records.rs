//! Random records.

use memory_engine_core::{Kind, Record, Role, State, Timestamp, Trust};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value as Json, json};

use super::{
    addresses::{RandomAddress, addresses},
    pools::{KEYS, NUMBERS, SEQUENCES, SHARES, TEXTS, TIMES},
};
use crate::fixtures::{id, lin, turn};

/// Returns 1 to `max` records with ids from 1, each with its address.
pub(crate) fn records(max: usize) -> impl Strategy<Value = Vec<(RandomAddress, Record)>> {
    vec((addresses(), record()), 1..=max).prop_map(|mut records| {
        for ((_, record), number) in records.iter_mut().zip(1..) {
            record.id = id(number);
        }
        records
    })
}

fn text() -> impl Strategy<Value = String> {
    select(TEXTS).prop_map(str::to_owned)
}

fn time() -> impl Strategy<Value = Timestamp> {
    select(TIMES).prop_map(Timestamp::from_micros)
}

fn record() -> impl Strategy<Value = Record> {
    let kind =
        prop_oneof![Just(Kind::TURN), Just(Kind::FACT), text().prop_map(|text| Kind::new(format!("kind {text}")))];
    let role = option::of(prop_oneof![Just(Role::USER), text().prop_map(Role::new)]);
    let words = (option::of(text()), option::of(text()), option::of(text()), option::of(text()), option::of(text()));
    let lists = (vec(text(), 0..4), vec(text(), 0..4));
    let source = (option::of(select(SEQUENCES)), option::of(select(&[0, 1, 2, u32::MAX][..])));
    let shares = (select(SHARES), select(SHARES));
    let times = (time(), time(), option::of(time()), option::of(time()));
    let labels = (select(Trust::ALL), prop_oneof![3 => Just(State::Active), 1 => select(State::ALL)]);
    let limits = (any::<bool>(), option::of(time()));
    let drawn = (kind, role, words, lists, source, shares, times, (labels, limits), metadata());
    drawn.prop_map(|(kind, role, words, lists, source, shares, times, (labels, limits), metadata)| {
        let mut record = turn(&lin(), "a record", 0);
        (record.kind, record.role) = (kind, role);
        (record.speaker, record.scene, record.topic, record.emotion, record.source.message_id) = words;
        (record.entities, record.tags) = lists;
        (record.source.sequence, record.source.round) = source;
        (record.confidence, record.importance) = shares;
        (record.occurred_at, record.recorded_at, record.valid_from, record.valid_until) = times;
        if record.valid_until < record.valid_from {
            record.valid_until = None;
        }
        (record.trust, record.state) = labels;
        (record.pinned, record.expires_at) = limits;
        record.metadata = metadata;
        record
    })
}

fn metadata() -> impl Strategy<Value = Map<String, Json>> {
    let entry = (select(KEYS), json_value());
    vec(entry, 0..5).prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        2 => any::<bool>().prop_map(Json::Bool),
        3 => select(SEQUENCES).prop_map(|n| json!(n)),
        1 => Just(json!(u64::MAX)),
        3 => select(NUMBERS).prop_map(|n| json!(n)),
        4 => text().prop_map(Json::String),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 0..4).prop_map(Json::Array),
            1 => vec((select(KEYS), inner), 0..3)
                .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}
