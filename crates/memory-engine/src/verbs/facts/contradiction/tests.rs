use memory_engine_core::{Record, RecordId, Scope};
use memory_engine_summarizer::{Cardinality, ExtractedFact, FactKind, Polarity};

use super::contradict;

/// Returns a fact about the user. `value` with a leading `!` is denied.
fn fact(slot: &str, value: &str, cardinality: Cardinality) -> ExtractedFact {
    let source = RecordId::new();
    serde_json::from_value(serde_json::json!({
        "subject": ExtractedFact::USER,
        "slot": slot,
        "value": value.trim_start_matches('!'),
        "polarity": if value.starts_with('!') { Polarity::Negative } else { Polarity::Positive },
        "cardinality": cardinality,
        "kind": FactKind::Fact,
        "valid_from": null,
        "valid_until": null,
        "said_at": "2024-05-01T00:00:00Z",
        "sequence": null,
        "evidence": [{ "record": source, "quote": value }],
        "text": value,
        "confidence": 1.0,
    }))
    .unwrap()
}

fn stored(fact: &ExtractedFact, user: &str) -> Record {
    fact.to_record(&Scope::user(user).unwrap(), fact.said_at)
}

fn disagree(one: &ExtractedFact, other: &ExtractedFact) -> bool {
    let (one, other) = (stored(one, "lin"), stored(other, "lin"));
    assert_eq!(contradict(&one, &other), contradict(&other, &one), "{} and {}", one.text, other.text);
    contradict(&one, &other)
}

#[test]
fn values_contradict_if_the_attribute_has_one() {
    let cases = [
        ("home", "Porto", "Lisbon", Cardinality::Single, true),
        ("home", "上海", "北京", Cardinality::Single, true),
        ("home", "Porto", "porto", Cardinality::Single, false),
        ("home", "上海", "上海浦东", Cardinality::Single, false),
        ("allergy", "seafood", "walnuts", Cardinality::Many, false),
        ("allergy", "seafood", "!seafood", Cardinality::Many, true),
        ("allergy", "seafood", "!*", Cardinality::Many, true),
        ("allergy", "seafood", "!walnuts", Cardinality::Many, false),
        ("allergy", "!seafood", "!*", Cardinality::Many, false),
    ];
    for (slot, one, other, cardinality, expected) in cases {
        let found = disagree(&fact(slot, one, cardinality), &fact(slot, other, cardinality));
        assert_eq!(found, expected, "{slot}: {one} and {other}");
    }
}

#[test]
fn other_attributes_and_people_do_not_contradict() {
    let porto = fact("home", "Porto", Cardinality::Single);
    assert!(!disagree(&porto, &fact("workplace", "Lisbon", Cardinality::Single)));
    let mut of_sister = fact("home", "Lisbon", Cardinality::Single);
    of_sister.subject = "user.sister".into();
    assert!(!disagree(&porto, &of_sister));
    let lisbon = fact("home", "Lisbon", Cardinality::Single);
    assert!(!contradict(&stored(&porto, "lin"), &stored(&lisbon, "mei")));
}

#[test]
fn separate_times_do_not_contradict() {
    let mut porto = fact("home", "Porto", Cardinality::Single);
    let lisbon = fact("home", "Lisbon", Cardinality::Single);
    porto.valid_until = Some("2024-06-01T00:00:00Z".parse().unwrap());
    assert!(!disagree(&porto, &lisbon), "a stay with an end does not contradict a home");
    let mut later = fact("home", "Lisbon", Cardinality::Single);
    later.said_at = "2024-07-01T00:00:00Z".parse().unwrap();
    later.valid_until = Some("2024-08-01T00:00:00Z".parse().unwrap());
    assert!(!disagree(&porto, &later));
    later.said_at = "2024-05-20T00:00:00Z".parse().unwrap();
    assert!(disagree(&porto, &later));
}
