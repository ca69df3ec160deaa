//! Statements of other persons, questions, suppositions, quotations and role play next to the speaker's own statements.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;

use memory_engine_core::{Kind, ManualClock, Record, Role, Scope, Timestamp};
use memory_engine_summarizer::{ExtractedFact, RuleFacts};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    stated: BTreeMap<String, String>,
    not_stated: Vec<String>,
}

fn groups() -> BTreeMap<String, Group> {
    toml::from_str(include_str!("tables/speakers.toml")).unwrap()
}

/// Returns the facts of a message, each as its subject, slot and value.
fn facts(rules: &RuleFacts, message: &str) -> Vec<String> {
    let said: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
    let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, message, &ManualClock::new(said));
    turn.role = Some(Role::USER);
    let label = |fact: &ExtractedFact| format!("{} {} {}", fact.subject, fact.slot, fact.value);
    rules.facts(&[turn]).iter().map(label).collect()
}

#[test]
fn every_group_has_twenty_messages_of_each_kind() {
    for (name, group) in groups() {
        assert!(group.stated.len() >= 20 && group.not_stated.len() >= 20, "{name}");
    }
}

#[test]
fn own_statements_are_facts() {
    let rules = RuleFacts::built_in().unwrap();
    let mut missing = Vec::new();
    for (name, group) in groups() {
        for (message, fact) in group.stated {
            let found = facts(&rules, &message);
            if !found.contains(&fact) {
                missing.push(format!("{name}: {message}: {fact}, found {found:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn other_messages_state_no_facts() {
    let rules = RuleFacts::built_in().unwrap();
    let mut wrong = Vec::new();
    for (name, group) in groups() {
        for message in group.not_stated {
            let found = facts(&rules, &message);
            if !found.is_empty() {
                wrong.push(format!("{name}: {message}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
