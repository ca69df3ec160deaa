//! Precision and recall of the rules on natural messages, and their recognition of updates.
//!
//! The tables are `tables/natural.{zh,en}.jsonl` and `tables/updates.{zh,en}.jsonl`. Run with `--no-capture` to see the
//! figures and every difference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the figures are the purpose of the test")]

use std::time::Duration;

use memory_engine_core::{Kind, ManualClock, Record, RecordId, Role, Scope, State, Timestamp, text::normalize};
use memory_engine_summarizer::{ExtractedFact, Polarity, RuleFacts, fact_keys, reconcile};
use serde::Deserialize;

/// A message with its facts: subject (a relative, or empty for the user), sign, slot, value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    text: String,
    facts: Vec<String>,
}

/// Two messages, and true if the second ends the facts of the first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    before: String,
    after: String,
    ends: bool,
}

fn lines<T: for<'de> Deserialize<'de>>(table: &str) -> Vec<T> {
    table.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the turn of a message on the `n`th day from Wednesday 2024-05-01.
fn turn(n: u32, text: &str) -> Record {
    let first_day: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
    let said = first_day.after(Duration::from_secs(24 * 60 * 60) * n);
    let mut turn = Record::new(scope(), Kind::TURN, text, &ManualClock::new(said));
    turn.role = Some(Role::USER);
    turn
}

fn scope() -> Scope {
    Scope::user("lin").unwrap()
}

fn label(fact: &ExtractedFact) -> String {
    let subject = fact.subject.split_once('.').map_or("", |(_, relative)| relative);
    let sign = if fact.polarity == Polarity::Positive { '+' } else { '-' };
    format!("{subject}{sign}{}={}", fact.slot, fact.value)
}

/// Returns true for a fact that only ends others.
fn is_end(fact: &ExtractedFact) -> bool {
    fact.slot.starts_with(ExtractedFact::ENDED)
}

/// Returns true if two labels have the same subject, sign and slot, and one value contains the other.
fn agree(expected: &str, found: &str) -> bool {
    let (expected_slot, expected_value) = expected.split_once('=').unwrap();
    let (found_slot, found_value) = found.split_once('=').unwrap();
    let expected_value = normalize(expected_value);
    let found_value = normalize(found_value);
    expected_slot == found_slot && (expected_value.contains(&found_value) || found_value.contains(&expected_value))
}

/// Returns precision and recall on a table, and prints them with every difference.
fn measure(name: &str, table: &str) -> (f64, f64) {
    let rules = RuleFacts::built_in().unwrap();
    let mut correct = 0;
    let mut extracted = 0;
    let mut recalled = 0;
    let mut stated = 0;
    for Message { text, facts } in lines::<Message>(table) {
        let found = rules.facts(&[turn(0, &text)]);
        // An end is stored only together with the fact that it ends.
        let found: Vec<String> = found.iter().filter(|fact| !is_end(fact)).map(label).collect();
        let wrong: Vec<&String> = found.iter().filter(|found| !facts.iter().any(|fact| agree(fact, found))).collect();
        let missed: Vec<&String> = facts.iter().filter(|fact| !found.iter().any(|found| agree(fact, found))).collect();
        if !wrong.is_empty() || !missed.is_empty() {
            println!("{text}\n    missed {missed:?} wrong {wrong:?}");
        }
        extracted += found.len();
        correct += found.len() - wrong.len();
        stated += facts.len();
        recalled += facts.len() - missed.len();
    }
    let precision = f64::from(correct as u32) / f64::from(extracted as u32);
    let recall = f64::from(recalled as u32) / f64::from(stated as u32);
    println!("{name}: precision {precision:.3} ({correct}/{extracted}), recall {recall:.3} ({recalled}/{stated})");
    (precision, recall)
}

/// Returns the share of ended facts that are recognised, and the share of other facts that are kept.
fn measure_updates(name: &str, table: &str) -> (f64, f64) {
    let rules = RuleFacts::built_in().unwrap();
    let mut ends = 0;
    let mut ended = 0;
    let mut others = 0;
    let mut kept = 0;
    for Update { before, after, ends: must_end } in lines::<Update>(table) {
        let records = |n: u32, text: &str| -> Vec<Record> {
            let mut turn = turn(n, text);
            turn.id = RecordId::named(&scope(), text);
            rules.facts(&[turn]).iter().map(|fact| fact.to_record(&scope(), fact.said_at)).collect()
        };
        let mut old = records(0, &before);
        old.retain(|record| ExtractedFact::from_record(record).is_none_or(|fact| !is_end(&fact)));
        let mut all = old.clone();
        for change in reconcile(&records(1, &after), &old) {
            change.apply(&mut all);
        }
        let is_ended = |record: &&Record| {
            record.state == State::Superseded && !record.metadata.contains_key(fact_keys::MERGED_INTO)
        };
        let has_ended = all.iter().filter(|record| old.iter().any(|o| o.id == record.id)).any(|r| is_ended(&r));
        if has_ended != must_end || old.is_empty() {
            let labels = |records: &[Record]| -> Vec<String> {
                records.iter().filter_map(ExtractedFact::from_record).map(|fact| label(&fact)).collect()
            };
            println!("{before} -> {after}\n    {:?} -> {:?}", labels(&old), labels(&records(1, &after)));
        }
        if must_end {
            ends += 1;
            ended += u32::from(has_ended);
        } else {
            others += 1;
            kept += u32::from(!has_ended);
        }
    }
    println!("{name}: ends recognised {ended}/{ends}, others kept {kept}/{others}");
    (f64::from(ended) / f64::from(ends), f64::from(kept) / f64::from(others))
}

#[test]
fn chinese_messages() {
    let (precision, recall) = measure("zh", include_str!("tables/natural.zh.jsonl"));
    assert!(precision >= 0.95 && recall >= 0.9, "precision {precision}, recall {recall}");
}

#[test]
fn english_messages() {
    let (precision, recall) = measure("en", include_str!("tables/natural.en.jsonl"));
    assert!(precision >= 0.95 && recall >= 0.9, "precision {precision}, recall {recall}");
}

#[test]
fn chinese_updates() {
    let (ended, kept) = measure_updates("zh", include_str!("tables/updates.zh.jsonl"));
    assert!(ended >= 0.8 && kept >= 0.95, "ended {ended}, kept {kept}");
}

#[test]
fn english_updates() {
    let (ended, kept) = measure_updates("en", include_str!("tables/updates.en.jsonl"));
    assert!(ended >= 0.8 && kept >= 0.95, "ended {ended}, kept {kept}");
}
