use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn value(text: &str) -> Value {
    read::<std::collections::BTreeMap<String, Value>>(text).map(|map| json!(map)).unwrap()
}

#[test]
fn text_around_json_is_ignored() {
    let expected = json!({"a": "x"});
    for text in [
        r#"{"a": "x"}"#,
        "```json\n{\"a\": \"x\"}\n```",
        "Sure, here it is:\n\n{\"a\": \"x\"}\n\nAnything else?",
        "<think>maybe {\"a\": \"y\"}?</think>{\"a\": \"x\"}",
        "maybe {\"a\": \"y\"}?\n</think>\n{\"a\": \"x\"}",
        "The set {1, 2} and [the list] make: {\"a\": \"x\"}",
        "好的：{\"a\": \"x\"}。",
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn common_json_mistakes_are_repaired() {
    assert_eq!(value("{\"a\": [1, 2, ],\n}"), json!({"a": [1, 2]}));
    assert_eq!(value("{\"a\": 1, // the first\n \"b\": \"http://x\"}"), json!({"a": 1, "b": "http://x"}));
    assert_eq!(value("{\"a\": \"one\ntwo\tthree,]\",}"), json!({"a": "one\ntwo\tthree,]"}));
    assert_eq!(value(r#"{"a": "she said \"}\" \\"}"#), json!({"a": "she said \"}\" \\"}));
    assert_eq!(value(r#"{"a": "<think>no</think>"}"#), json!({"a": "<think>no</think>"}));
}

#[test]
fn nul_characters_are_removed() {
    assert_eq!(value("{\"a\": \"x\0y\"}"), json!({"a": "xy"}));
    assert_eq!(value(r#"{"a": "x\u0000y"}"#), json!({"a": "xy"}));
    assert_eq!(value(r#"{"a": "x\\u0000\\\u0000\u00e9"}"#), json!({"a": "x\\u0000\\é"}));
    assert_eq!(read::<String>("\"a\0\"").unwrap(), "a");
}

#[test]
fn a_bare_value_is_parsed() {
    assert_eq!(read::<Option<u32>>(" null\n").unwrap(), None);
    assert_eq!(read::<String>("\"海鲜\"").unwrap(), "海鲜");
    assert_eq!(read::<Vec<u32>>("Here: [1, 2]").unwrap(), [1, 2]);
}

#[test]
fn truncated_json_is_an_error() {
    let broken = r#"Here: {"facts": [{"a": 1}, {"a": 2}, {"a"#;
    let error = read::<std::collections::BTreeMap<String, Value>>(broken).unwrap_err();
    assert!(matches!(error, JsonError::Truncated), "{error}");
    assert_eq!(value("Use {curly braces, like this: {\"a\": 1}"), json!({"a": 1}));
}

#[test]
fn errors_say_what_is_wrong() {
    let message = |text: &str| read::<Vec<u32>>(text).unwrap_err().to_string();
    assert_eq!(message("I would rather not."), "there is no JSON in the answer");
    assert_eq!(message(""), "there is no JSON in the answer");
    assert_eq!(message("<think>never mind [1]"), "there is no JSON in the answer");
    assert_eq!(message("[1, 2"), "the answer ends before its JSON does");
    assert_eq!(message("[1 2]"), "the answer is not valid JSON: line 1, column 4 of the JSON");
    assert_eq!(message("[x] [\"a\"]"), "the JSON is not of the form that was asked for: line 1, column 4 of the JSON");
}

proptest! {
    #[test]
    fn json_is_found_in_any_prose(
        text in "[^<>\\[\\]{}\"]{0,40}",
        after in "[^<>]{0,40}",
        inner in any::<String>(),
    ) {
        let whole = format!("{text}{}{after}", json!({"a": inner}));
        prop_assert_eq!(value(&whole), json!({"a": inner.replace('\0', "")}));
    }

    #[test]
    fn parsing_never_panics(text in "[<>/think{}\\[\\]\",:\\\\ a\n]{0,80}") {
        let _ = read::<Value>(&text);
        let cut = json!({"a": [text]}).to_string();
        prop_assert!(read::<Value>(&cut).is_ok());
    }
}
