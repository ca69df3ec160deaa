use super::*;
use crate::{record::Kind, scope::Scope, time::SystemClock};

fn record() -> Record {
    let scope = Scope::user("lin").unwrap().with_session("monday").unwrap();
    let mut record = Record::new(scope, Kind::TURN, "hello", &SystemClock);
    record.tags = vec!["btc".into(), "eth".into()];
    record.metadata.insert("mood".into(), serde_json::json!("glad"));
    record.metadata.insert("sizes".into(), serde_json::json!([1, 2.5]));
    record.metadata.insert("gone".into(), serde_json::Value::Null);
    record
}

fn metadata(key: &str) -> Field {
    Field::Metadata(key.into())
}

#[test]
fn a_comparison_with_a_missing_field_is_false_and_its_negation_true() {
    let missing = Filter::eq(Field::Scene, "daily");
    assert!(!missing.matches(&record()));
    assert!(Filter::Not(Box::new(missing)).matches(&record()));
    assert!(Filter::ne(Field::Scene, "daily").matches(&record()));
    assert!(!Filter::Exists(metadata("gone")).matches(&record()));
}

#[test]
fn a_list_compares_equal_if_any_element_does() {
    assert!(Filter::eq(Field::Tags, "eth").matches(&record()));
    assert!(!Filter::eq(Field::Tags, "doge").matches(&record()));
    assert!(Filter::compare(metadata("sizes"), Op::Gt, 2.0).matches(&record()));
    assert!(!Filter::compare(metadata("sizes"), Op::Gt, 3.0).matches(&record()));
}

#[test]
fn empty_and_is_true_and_empty_or_and_in_are_false() {
    assert!(Filter::And(vec![]).matches(&record()));
    assert!(!Filter::Or(vec![]).matches(&record()));
    assert!(!Filter::In(Field::Kind, vec![]).matches(&record()));
}

#[test]
fn the_error_of_an_invalid_filter_names_the_field() {
    let invalid = [
        (Filter::eq(Field::Kind, 3.0), "kind"),
        (Filter::compare(Field::Tags, Op::Lt, "x"), "tags"),
        (Filter::eq(Field::OccurredAt, "monday"), "occurred_at"),
        (Filter::eq(Field::Id, "not-an-id"), "id"),
        (Filter::eq(metadata("a\"b"), "x"), "metadata key"),
        (Filter::compare(Field::Confidence, Op::Lt, f64::NAN), "confidence"),
    ];
    for (filter, word) in invalid {
        let e = filter.validate().unwrap_err();
        assert!(e.to_string().contains(word), "{e}");
    }
}

#[test]
fn too_deep_and_too_wide_filters_are_invalid() {
    let mut deep = Filter::And(vec![]);
    for _ in 0..Filter::MAX_DEPTH {
        deep = Filter::Not(Box::new(deep));
    }
    assert!(deep.validate().is_err());
    let wide = Filter::In(Field::Kind, vec![FilterValue::from("x"); Filter::MAX_LEAVES + 1]);
    assert!(wide.validate().is_err());
}

#[test]
fn field_names_are_parsed() {
    for field in Field::plain().chain([metadata("mood")]) {
        assert_eq!(field.name().parse::<Field>().unwrap(), field);
    }
    assert!("colour".parse::<Field>().unwrap_err().to_string().contains("occurred_at"));
}
