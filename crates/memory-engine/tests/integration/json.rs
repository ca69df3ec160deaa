//! The JSON of turns, queries and options.

use std::time::Duration;

use memory_engine::{
    Filter, Forget, ForgetText, Kind, RecallOptions, RecallQuery, Role, Turn,
    history::Rewind,
    jiff::tz::TimeZone,
    recall::{Method, RankingMethod, Retrievers},
    serde_json::{self, json},
};

#[test]
fn a_turn_needs_only_a_text_and_cannot_claim_trust() {
    let read = |json: serde_json::Value| serde_json::from_value::<Turn>(json);
    assert_eq!(read(json!({"text": "hello"})).unwrap(), Turn::user("hello"));
    let full = Turn::assistant("done")
        .with_message_id("m1")
        .with_round(3)
        .at("2024-05-01".parse::<memory_engine::Timestamp>().unwrap());
    let full = full.meta("room", 3).meta("done", true).with_tags(["work"]).with_confidence(0.5);
    assert_eq!(read(serde_json::to_value(&full).unwrap()).unwrap(), full);
    for turn in [Turn::note("n"), Turn::tool("t"), Turn::system("s"), Turn::new(Role::new("narrator"), "x")] {
        assert_eq!(read(serde_json::to_value(&turn).unwrap()).unwrap(), turn);
    }
    assert_eq!(read(json!({"text": "n", "kind": "note"})).unwrap(), Turn::note("n").with_kind(Kind::NOTE));
    assert!(read(json!({"text": "hello", "trust": "user"})).is_err());
    assert!(read(json!({"role": "user"})).is_err());
}

#[test]
fn a_query_needs_only_a_text() {
    let read = |json: serde_json::Value| serde_json::from_value::<RecallQuery>(json);
    assert_eq!(read(json!({"text": "Porto"})).unwrap(), RecallQuery::new("Porto"));
    let query = RecallQuery::new("Porto").with_filter(Filter::meta("room", 3)).in_scene("plot").prefer_speaker("Ann");
    let query = query.with_zone(TimeZone::get("Asia/Shanghai").unwrap()).with_retrievers(Retrievers::VectorOnly);
    let query = query.with_options(RecallOptions::default().with_fusion(Method::Ranks { k: 60.0 })).only_then();
    let json = serde_json::to_value(&query).unwrap();
    assert_eq!((&json["zone"], &json["retrievers"]), (&json!("Asia/Shanghai"), &json!("vector_only")));
    assert_eq!(read(json).unwrap(), query);
    let refused = read(json!({"text": "Porto", "limits": 3})).unwrap_err().to_string();
    assert!(refused.contains("unknown field `limits`") && refused.contains("`limit`"), "{refused}");
}

#[test]
fn forget_and_rewind_are_read_from_json() {
    let forget = |json: serde_json::Value| serde_json::from_value::<Forget>(json);
    assert_eq!(forget(json!("everything")).unwrap(), Forget::Everything);
    let filter = Filter::meta("room", 3);
    assert_eq!(forget(json!({"matching": filter})).unwrap(), Forget::Matching(filter));
    assert!(forget(json!({"matching": {}})).is_err());
    assert_eq!(forget(json!({"text": {"text": "555 0134"}})).unwrap(), Forget::Text(ForgetText::new("555 0134")));
    assert!(forget(json!({"text": {"text": "555 0134", "everywhere": true}})).is_err());
    assert_eq!(serde_json::from_value::<Rewind>(json!({"last": 2})).unwrap(), Rewind::Last(2));
    assert_eq!(serde_json::from_value::<Rewind>(json!({"to": 7})).unwrap(), Rewind::To(7));
}

#[test]
fn every_option_is_optional_and_durations_are_seconds() {
    let read = |json: serde_json::Value| serde_json::from_value::<RecallOptions>(json);
    assert_eq!(read(json!({})).unwrap(), RecallOptions::default());
    let options = read(json!({"limit": 3, "deadline": 0.25, "fusion": "scores"})).unwrap();
    assert_eq!(options, RecallOptions::default().with_limit(3).with_deadline(Duration::from_millis(250)));
    let all = serde_json::to_value(options).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 24);
    assert_eq!(read(all).unwrap(), options);
    assert_eq!(
        read(json!({"ranking": "fusion"})).unwrap(),
        RecallOptions::default().with_ranking(RankingMethod::Fusion)
    );
    assert!(read(json!({"deadline": -1})).unwrap_err().to_string().contains("seconds"));
    assert!(read(json!({"pool": 3})).is_err());
}
