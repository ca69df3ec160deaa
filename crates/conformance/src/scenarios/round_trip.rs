//! Stored records are returned unchanged.

use memory_engine_core::{Kind, Record, Role, Scope, State, Timestamp, Trust};
use serde_json::{Map, Value, json};

use crate::{
    World,
    fixtures::{id, lin, numbered, turn},
};

const SPECIAL_TEXTS: [&str; 14] = [
    "我对海鲜过敏，臺北也是。",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \u{1F9D1}\u{1F3FF}",
    "e\u{301} is not é",
    "'); DROP TABLE records; --",
    "\"quoted\" 'twice' `thrice` \\ \\\\ \\n",
    "line\r\nbreak\ttab\u{b}\u{1}\u{7f}",
    " leading and trailing \u{3000}",
    "%_*?[a-z]$1 :name @name ?1 {} {{}}",
    "\u{feff}bom \u{200b}zero width \u{202e}right to left",
    "\u{fffd}\u{ffff}\u{10ffff}\u{e000}",
    "null",
    "true",
    "0",
    "{\"json\": [1]}",
];

async fn assert_round_trip(world: &World, record: Record) {
    world.put(&[&record]).await;
    let stored = world.stored(&record).await.unwrap();
    let mut expected = record.clone();
    expected.revision = 1;
    assert_eq!(stored, expected);
    let scanned = world.all(&record.scope).await;
    assert!(scanned.contains(&stored), "scan and get return the same record");
}

pub async fn r4_every_field_comes_back(world: &World) {
    let address = lin().with_agent("kai").unwrap().with_session("monday").unwrap().with_branch("b").unwrap();
    let mut record = turn(&address, "We flew to Taipei.", 1_772_000_000_654_321);
    record.kind = Kind::new("dream");
    record.role = Some(Role::new("narrator"));
    record.speaker = Some("Kai".into());
    record.scene = Some("plot".into());
    record.topic = Some("travel".into());
    record.entities = vec!["Taipei".into(), "Kai".into(), "Taipei".into()];
    record.emotion = Some("joy".into());
    record.tags = vec!["b".into(), "a".into()];
    (record.confidence, record.importance) = (0.1 + 0.2, 1.0 / 3.0);
    record.source.message_id = Some("D1:3".into());
    (record.source.sequence, record.source.round) = (Some(-3), Some(u32::MAX));
    record.derived_from = vec![id(9), id(3), id(9)];
    record.recorded_at = Timestamp::from_micros(1_772_000_000_654_322);
    record.valid_from = Some(Timestamp::from_micros(-1));
    record.valid_until = Some(Timestamp::from_micros(0));
    (record.pinned, record.expires_at) = (true, Some(Timestamp::from_micros(-7)));
    record.metadata.insert("mood".into(), json!({"glad": [true, null, 2.5]}));
    assert_round_trip(world, record).await;
}

pub async fn unset_fields_stay_unset(world: &World) {
    assert_round_trip(world, turn(&lin(), "bare", 0)).await;
}

pub async fn an_empty_field_differs_from_an_unset_one(world: &World) {
    let mut record = turn(&lin(), "x", 0);
    let empty = || Some(String::new());
    record.role = Some(Role::new(""));
    (record.speaker, record.scene, record.topic, record.emotion) = (empty(), empty(), empty(), empty());
    record.source.message_id = empty();
    (record.entities, record.tags) = (vec![String::new()], vec![String::new(), String::new()]);
    assert_round_trip(world, record).await;
}

pub async fn special_characters_round_trip_in_text_fields(world: &World) {
    for (text, number) in SPECIAL_TEXTS.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        let some = || Some((*text).to_owned());
        (record.text, record.kind, record.role) = ((*text).into(), Kind::new(*text), Some(Role::new(*text)));
        (record.speaker, record.scene, record.topic, record.emotion) = (some(), some(), some(), some());
        record.source.message_id = some();
        record.entities = SPECIAL_TEXTS.map(String::from).to_vec();
        record.tags = vec![(*text).into(), "a,b;c|d\u{1f}e\nf".into(), (*text).into()];
        record.metadata = Map::from_iter([((*text).to_owned(), json!({ *text: [*text] }))]);
        assert_round_trip(world, record).await;
    }
}

pub async fn special_characters_round_trip_in_addresses(world: &World) {
    let longest = "名".repeat(85);
    for (name, number) in ["a b", "'--", "\"", "%", "a/b:c|d", "🙂", "e\u{301}", longest.as_str()].iter().zip(1..) {
        let address = Scope::tenant_wide(*name).unwrap().with_user(*name).unwrap();
        let address = address.with_agent(*name).unwrap().with_session(*name).unwrap().with_branch(*name).unwrap();
        assert_round_trip(world, numbered(&address, number)).await;
    }
}

pub async fn every_trust_and_state_round_trips(world: &World) {
    for (trust, t) in Trust::ALL.iter().zip(0..) {
        for (state, s) in State::ALL.iter().zip(1..) {
            let mut record = numbered(&lin(), t * 10 + s);
            (record.trust, record.state) = (*trust, *state);
            assert_round_trip(world, record).await;
        }
    }
}

pub async fn extreme_numbers_and_times_round_trip(world: &World) {
    let times = [i64::MIN, -377_705_023_201_000_000, -1, 0, 253_402_207_200_999_999, i64::MAX];
    let shares = [0.0, f64::MIN_POSITIVE, 5e-324, 0.1 + 0.2, 1.0 - f64::EPSILON / 2.0, 1.0];
    let sequences = [i64::MIN, -1, 0, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
    for (i, number) in (1..=6).enumerate() {
        let mut record = numbered(&lin(), number);
        let time = Timestamp::from_micros(times[i]);
        (record.occurred_at, record.recorded_at) = (time, time);
        (record.valid_from, record.valid_until) = (Some(time), Some(time));
        record.expires_at = Some(time);
        (record.confidence, record.importance) = (shares[i], shares[5 - i]);
        (record.source.sequence, record.source.round) = (Some(sequences[i]), Some(if i == 0 { 0 } else { u32::MAX }));
        assert_round_trip(world, record).await;
    }
    let times_in_order: Vec<_> = world.all(&lin()).await.iter().map(|r| r.occurred_at.as_micros()).collect();
    assert_eq!(times_in_order, times);
}

pub async fn metadata_of_every_json_type_round_trips(world: &World) {
    let mut record = turn(&lin(), "x", 0);
    let deep =
        (0..60).fold(json!("bottom"), |inner, n| if n % 2 == 0 { json!([inner]) } else { json!({ "k": inner }) });
    record.metadata = Map::from_iter([
        (String::new(), json!("a key may be empty")),
        ("null".into(), Value::Null),
        ("bools".into(), json!([true, false])),
        ("text".into(), json!("\u{1} \" \\ / 🙂 \u{2028}")),
        ("empty".into(), json!([{}, [], ""])),
        ("a.b".into(), json!({"a.b": 1, "$.a": 2, "a": {"b": 3}})),
        ("deep".into(), deep),
    ]);
    assert_round_trip(world, record).await;
}

pub async fn metadata_numbers_round_trip_exactly(world: &World) {
    let mut record = turn(&lin(), "x", 0);
    // An inexact JSON parser reads the last three one unit in the last place off.
    let numbers = json!([
        0,
        -1,
        i64::MIN,
        i64::MAX,
        u64::MAX,
        (1_u64 << 53) + 1,
        0.0,
        1.0,
        -2.5,
        0.1,
        0.1 + 0.2,
        1.0 / 3.0,
        1e16,
        1e21,
        -1e-7,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        123_456_789.123_456_78,
        2.225_073_858_507_201e-308,
        0.102_468_025_816_798_41,
        0.952_972_204_097_208_3,
        0.411_626_999_667_407_96,
    ]);
    record.metadata.insert("numbers".into(), numbers);
    assert_round_trip(world, record).await;
}

pub async fn maximum_text_and_metadata_round_trip(world: &World) {
    let mut record = turn(&lin(), &"长".repeat(Record::MAX_TEXT_BYTES / 3), 0);
    record.metadata.insert("k".into(), json!("x".repeat(Record::MAX_METADATA_BYTES - 8)));
    assert_round_trip(world, record).await;
}
