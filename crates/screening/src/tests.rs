//! Tests of each rule: texts with their secrets, and texts that it must ignore, in the tables of `tests/rules`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;

use memory_engine_text::load;
use proptest::prelude::*;
use serde::Deserialize;

use crate::{
    policy::{Category, ScreeningAction, ScreeningPolicy},
    prefilter::Prefilter,
    rules::{RULES, Rule},
    screener::{Screener, secrets_of},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    matches: Vec<String>,
    near_misses: Vec<String>,
}

fn tables() -> BTreeMap<String, Table> {
    load(&[
        include_str!("../tests/rules/gitleaks.toml"),
        include_str!("../tests/rules/credentials.toml"),
        include_str!("../tests/rules/en.toml"),
        include_str!("../tests/rules/zh.toml"),
        include_str!("../tests/rules/personal.toml"),
        include_str!("../tests/rules/identity.toml"),
    ])
}

/// Returns a text with each `{A-Z0-9:16}` replaced by that many characters of the class. The tables have no whole keys,
/// because scanners of repositories would report them.
fn expanded(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    while let Some((before, after)) = rest.split_once("{{") {
        let (spec, after) = after.split_once("}}").unwrap();
        let (class, count) = spec.rsplit_once(':').unwrap();
        let class = characters(class);
        text.push_str(before);
        for _ in 0..count.parse().unwrap() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(class[(state >> 33) as usize % class.len()]);
        }
        rest = after;
    }
    text + rest
}

/// Returns the characters of a class such as `A-Z0-9_`.
fn characters(class: &str) -> Vec<char> {
    let listed: Vec<char> = class.chars().collect();
    let mut characters = Vec::new();
    let mut index = 0;
    while index < listed.len() {
        match listed.get(index + 1..index + 3) {
            Some(['-', last]) => {
                characters.extend(listed[index]..=*last);
                index += 3;
            }
            _ => {
                characters.push(listed[index]);
                index += 1;
            }
        }
    }
    characters
}

/// Returns the text without its marks ⟦⟧, and the marked secrets.
fn marked(template: &str) -> (String, Vec<String>) {
    let template = expanded(template);
    let secrets = template.split('⟦').skip(1).map(|part| part.split('⟧').next().unwrap().to_owned()).collect();
    (template.replace(['⟦', '⟧'], ""), secrets)
}

/// Returns the secrets that one rule finds, through the prefilter.
fn found_by<'t>(rule: &Rule, text: &'t str) -> Vec<&'t str> {
    let prefilter = Prefilter::new(|other| other.id == rule.id);
    let candidates = prefilter.candidates(text);
    candidates.into_iter().flat_map(|rule| secrets_of(rule, text)).map(|range| &text[range]).collect()
}

#[test]
fn every_rule_has_a_table() {
    let tables = tables();
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "every id names one rule");
    assert_eq!(ids, tables.keys().map(String::as_str).collect::<Vec<_>>());
    for (id, table) in &tables {
        assert!(!table.matches.is_empty() && !table.near_misses.is_empty(), "{id}");
    }
}

#[test]
fn rules_find_the_secrets_of_their_tables() {
    let tables = tables();
    let mut faults = Vec::new();
    for rule in RULES.iter() {
        for template in tables.get(rule.id.as_str()).iter().flat_map(|table| &table.matches) {
            let (text, secrets) = marked(template);
            assert!(!secrets.is_empty(), "{template}");
            if found_by(rule, &text) != secrets {
                faults.push(format!("{}: {text}: {:?}", rule.id, found_by(rule, &text)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rules_ignore_near_misses() {
    let tables = tables();
    let mut faults = Vec::new();
    for rule in RULES.iter() {
        for template in tables.get(rule.id.as_str()).iter().flat_map(|table| &table.near_misses) {
            let text = expanded(template);
            if !found_by(rule, &text).is_empty() {
                faults.push(format!("{}: {text}: {:?}", rule.id, found_by(rule, &text)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn secrets_of_every_table_are_masked_and_stay_masked() {
    let screener = Screener::new(ScreeningPolicy::uniform(ScreeningAction::Mask));
    for (id, table) in tables() {
        for template in &table.matches {
            let (text, secrets) = marked(template);
            let masked = screener.screen(&text).text.into_owned();
            for secret in secrets {
                assert!(!masked.contains(&secret), "{id}: {masked}");
            }
            let findings = screener.findings(&masked);
            assert!(findings.is_empty(), "{id}: {masked}: {findings:?}");
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    secrets: Vec<String>,
    harmless: Vec<String>,
}

/// Prints the recall and the false positives with `-- --nocapture`.
#[test]
fn sentences_that_were_written_before_their_rules() {
    let sentences: Sentences = toml::from_str(include_str!("../tests/rules/sentences.toml")).unwrap();
    let screener = Screener::new(ScreeningPolicy::uniform(ScreeningAction::Mask));
    let missed = sentences.secrets.iter().filter(|template| {
        let (text, secrets) = marked(template);
        let masked = screener.screen(&text).text;
        secrets.iter().any(|secret| masked.contains(secret))
    });
    let missed: Vec<&String> = missed.collect();
    let masked = sentences.harmless.iter().filter(|text| !screener.findings(text).is_empty());
    let masked: Vec<_> = masked.map(|text| screener.screen(text).text).collect();
    let (found, all) = (sentences.secrets.len() - missed.len(), sentences.secrets.len());
    println!("{found} of {all} found; missed: {missed:#?}");
    assert!(masked.is_empty(), "false positives: {masked:#?}");
    assert!(found * 10 >= all * 9, "{missed:#?}");
}

#[test]
fn rules_run_only_for_screened_categories() {
    let screener = Screener::of_categories(&[Category::Email]);
    let text = "password: tiger-4711, mail lin@example.com";
    let findings = screener.findings(text);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].rule.as_str(), &text[findings[0].range.clone()]), ("email-address", "lin@example.com"));
    assert!(Screener::new(ScreeningPolicy::uniform(ScreeningAction::Store)).findings(text).is_empty());
}

#[test]
fn text_in_the_form_of_a_mask_is_screened_unless_it_names_a_rule() {
    let screener = Screener::new(ScreeningPolicy::default());
    let masked = |text| screener.screen(text).text.into_owned();
    assert_eq!(masked("password: [redacted: en-password]"), "password: [redacted: en-password]");
    let text = expanded("[redacted: AKIA{{A-Z2-7:16}}]");
    assert_eq!(masked(&text), "[redacted: [redacted: aws-access-token]]");
}

proptest! {
    #[test]
    fn screening_twice_changes_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                Just("password: ".to_owned()), Just("密码是".to_owned()), Just("[redacted: ".to_owned()),
                Just("]".to_owned()), Just("token=".to_owned()), Just("://u:".to_owned()), Just("@h".to_owned()),
                "[a-z0-9]{1,24}", "[ -~]{0,6}", "[密码是卡号0-9]{1,12}", Just("13812345678".to_owned()),
                Just("en-password".to_owned()),
            ],
            0..12,
        )
    ) {
        let screener = Screener::new(ScreeningPolicy::uniform(ScreeningAction::Mask));
        let once = screener.screen(&parts.concat()).text.into_owned();
        let twice = screener.screen(&once).text.into_owned();
        prop_assert_eq!(once, twice);
    }
}
