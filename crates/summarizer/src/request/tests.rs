//! Each rule has sentences that it matches and near misses, in `tests/requests/en.toml` and `tests/requests/zh.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Messages whose rule is this one.
    examples: Vec<String>,
    /// Messages that ask for nothing.
    near_misses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    rules: BTreeMap<String, Table>,
    /// The topics of messages.
    topics: BTreeMap<String, String>,
}

fn tables() -> [Tables; 2] {
    [include_str!("../../tests/requests/en.toml"), include_str!("../../tests/requests/zh.toml")]
        .map(|file| toml::from_str(file).unwrap())
}

#[test]
fn every_rule_compiles_and_has_examples() {
    RULES.index.check().unwrap();
    EXCEPTIONS.index.check().unwrap();
    let rules: Vec<Table> = tables().into_iter().flat_map(|tables| tables.rules.into_values()).collect();
    assert_eq!(rules.len(), DATA.rules.len());
    assert!(rules.iter().all(|table| table.examples.len() > 1 && table.near_misses.len() > 1));
}

#[test]
fn rules_match_their_examples_and_ignore_near_misses() {
    let mut wrong = Vec::new();
    for (id, table) in tables().into_iter().flat_map(|tables| tables.rules) {
        let examples = table.examples.iter().map(|message| (Some(id.as_str()), message));
        for (expected, message) in examples.chain(table.near_misses.iter().map(|message| (None, message))) {
            let rule = find(message).map(|(rule, _)| DATA.rules[rule].id.as_str());
            if rule != expected {
                wrong.push(format!("{message}: {rule:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn topics_are_named_without_articles() {
    for (message, topic) in tables().into_iter().flat_map(|tables| tables.topics) {
        let expected = Some(MemoryRequest::Forget { topic, is_confirmed: false });
        assert_eq!(MemoryRequest::of_message(&message, None), expected, "{message}");
    }
}

#[test]
fn a_yes_and_a_plain_undo_need_the_request_before_them() {
    let of = MemoryRequest::of_message;
    let forget = Some("please forget everything about Oslo");
    let confirmed = Some(MemoryRequest::Forget { topic: "Oslo".into(), is_confirmed: true });
    assert_eq!(of("Yes, go ahead.", forget), confirmed);
    assert_eq!(of("对，忘掉", forget), confirmed);
    for previous in [None, Some("Shall I cook?"), Some("yes"), Some("off the record: I am tired")] {
        assert_eq!(of("Yes, go ahead.", previous), None, "{previous:?}");
    }
    assert_eq!(of("Undo that.", forget), Some(MemoryRequest::Undo));
    assert_eq!(of("撤销", Some("好的")), Some(MemoryRequest::Undo));
    assert_eq!(of("Undo that.", Some("Rename the function.")), None);
    assert_eq!(of("Restore what I asked you to forget.", None), Some(MemoryRequest::Undo));
}

#[test]
fn requests_in_the_middle_of_a_long_text_are_pasted() {
    let request = "Please forget what I said about Oslo.";
    let line = "The committee met on Tuesday to discuss the harbour. ";
    assert_eq!(MemoryRequest::of_message(&[&line.repeat(9), request, &line.repeat(9)].concat(), None), None);
    for lines in [9, 900] {
        assert!(MemoryRequest::of_message(&[&line.repeat(lines), request].concat(), None).is_some(), "{lines}");
    }
    assert!(MemoryRequest::of_message(&[request, " ", &line.repeat(9)].concat(), None).is_some());
}

#[test]
fn a_topic_is_named_by_its_words_and_by_facts() {
    let named = |topic: &str, text: &str| NamedTopic::new(topic).is_named_in(text);
    assert!(named("sister's wedding", "My sister was late to her own wedding"));
    assert!(named("ex", "my EX called again") && named("bike", "two bikes") && named("taxes", "a tax on taxes"));
    assert!(!named("ex", "an exam") && !named("sister's wedding", "my sister") && !named("", "anything"));
    assert!(named("前任", "我的前任叫王磊") && named("面試", "周五面试"));
}

#[test]
fn a_topic_is_named_in_the_singular_and_in_the_plural() {
    let words = [
        ("allergy", "allergies"),
        ("party", "parties"),
        ("day", "days"),
        ("dress", "dresses"),
        ("match", "matches"),
        ("fox", "foxes"),
        ("wolf", "wolves"),
        ("knife", "knives"),
        ("potato", "potatoes"),
        ("photo", "photos"),
        ("virus", "viruses"),
        ("house", "houses"),
        ("movie", "movies"),
    ];
    for (singular, plural) in words {
        for (topic, text) in [(singular, plural), (plural, singular), (singular, singular), (plural, plural)] {
            assert!(NamedTopic::new(topic).is_named_in(text), "{topic}: {text}");
        }
    }
    for (topic, text) in [("glass", "glas"), ("bus", "bu"), ("allergies", "allergiess"), ("tennis", "tenni")] {
        assert!(!NamedTopic::new(topic).is_named_in(text), "{topic}: {text}");
    }
}
