//! Tests of each rule: sentences with its facts and sentences that it must ignore, in `rules/en.toml` and
//! `rules/zh.toml`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Kind, ManualClock, Record, Role, Scope, Timestamp};
use memory_engine_summarizer::{Polarity, RuleFacts};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    facts: BTreeMap<String, String>,
    #[serde(default)]
    regression: BTreeMap<String, String>,
    near_misses: Vec<String>,
}

fn tables() -> BTreeMap<String, Table> {
    let mut tables: BTreeMap<String, Table> = toml::from_str(include_str!("rules/en.toml")).unwrap();
    tables.extend(toml::from_str::<BTreeMap<String, Table>>(include_str!("rules/zh.toml")).unwrap());
    tables
}

/// Returns the facts that one rule extracts from a sentence, sorted. Those of a relative begin with its name.
fn facts_by(rules: &RuleFacts, rule: &str, sentence: &str) -> String {
    // A Wednesday.
    let said: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
    let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, sentence, &ManualClock::new(said));
    turn.role = Some(Role::USER);
    let facts = rules.facts(&[turn]);
    let of_rule = facts.iter().filter(|fact| fact.rule.as_ref().is_some_and(|id| id.as_str() == rule));
    let mut labels: Vec<String> = of_rule
        .map(|fact| {
            let relative = fact.subject.split_once('.').map_or("", |(_, relative)| relative);
            let sign = if fact.polarity == Polarity::Positive { '+' } else { '-' };
            format!("{relative}{sign}{}={}", fact.slot, fact.value)
        })
        .collect();
    labels.sort();
    labels.join(" | ")
}

#[test]
fn every_rule_has_a_test_table() {
    let rules = RuleFacts::built_in().unwrap();
    let tables = tables();
    let ids: Vec<&str> = rules.rule_ids().iter().map(|id| id.as_str()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "every id names one rule");
    assert_eq!(unique, tables.keys().map(String::as_str).collect());
    for (rule, table) in &tables {
        assert!(!table.facts.is_empty() && !table.near_misses.is_empty(), "{rule}");
    }
}

#[test]
fn rules_extract_the_facts_of_their_sentences() {
    let rules = RuleFacts::built_in().unwrap();
    for (rule, table) in tables() {
        for (sentence, expected) in table.facts.iter().chain(&table.regression) {
            assert_eq!(facts_by(&rules, &rule, sentence), *expected, "{rule}: {sentence}");
        }
    }
}

#[test]
fn rules_ignore_near_misses() {
    let rules = RuleFacts::built_in().unwrap();
    for (rule, table) in tables() {
        for sentence in &table.near_misses {
            assert_eq!(facts_by(&rules, &rule, sentence), "", "{rule}: {sentence}");
        }
    }
}
