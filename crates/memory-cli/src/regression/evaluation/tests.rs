use jiff::tz::TimeZone;
use memory_engine::{MemoryEngine, Scope, Turn};

use super::*;
use crate::regression::case_file;

/// Evaluates a case on the hits of its query among two turns.
async fn failures(expectations: &str) -> Vec<String> {
    let memory = MemoryEngine::builder().in_memory().build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let fish = Turn::user("I am allergic to shrimp").with_message_id("m1");
    memory.remember(&lin, fish).await.unwrap();
    memory.remember(&lin, Turn::user("Shrimp live in the sea, and in rivers")).await.unwrap();
    let text = format!("[[case]]\nuser = 'lin'\nquery = 'Am I allergic to shrimp?'\n{expectations}");
    let case = case_file::parse(&text, &TimeZone::UTC).unwrap().cases.remove(0);
    let recall = memory.recall(&case.scope, case.recall_query()).await.unwrap();
    assert!(recall.hits.len() == 2 && recall.hits[0].relevant, "{recall:?}");
    let failures = evaluate(&case, &Observation::Hits(recall));
    failures.iter().map(|failure| format!("{}: {}", failure.kind.as_str(), failure.message)).collect()
}

#[tokio::test]
async fn expected_hits_have_a_place_and_are_relevant() {
    for met in
        ["'ALLERGIC'", "{ id = 'm1', rank = 1 }", "{ regex = '^I am', rank = 1 }", "{ text = 'sea', relevant = false }"]
    {
        assert_eq!(failures(&format!("expect = [{met}]")).await, Vec::<String>::new(), "{met}");
    }
    let failed =
        failures("expect = ['peanuts', { id = 'm2', note = 'no one' }, { text = 'sea', rank = 1, relevant = false }]");
    let failed = failed.await;
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert_eq!(failed[0], "expected: text \"peanuts\" is not among the first 10 hits");
    assert_eq!(failed[1], "expected: id m2 (\"no one\") is not among the first 10 hits");
    assert_eq!(failed[2], "expected: text \"sea\" is hit 2, and must be among the first 1");
}

#[tokio::test]
async fn forbidden_hits_and_relevant_hits_fail() {
    assert_eq!(failures("forbid = ['peanuts']").await, Vec::<String>::new());
    let failed = failures("forbid = ['rivers', { id = 'm1', relevant = true }]\nabstain = true").await;
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(failed[0].starts_with("forbidden: text \"rivers\" is hit 2 ("), "{failed:?}");
    assert!(failed[1].starts_with("forbidden: id m1 is hit 1 (relevant, "), "{failed:?}");
    assert!(failed[2].starts_with("abstain: hit 1 is relevant ("), "{failed:?}");
}

#[test]
fn blocks_are_checked_by_text_and_by_record() {
    let text = "[[case]]\nuser = 'lin'\nquery = 'x'\ntarget = 'context'\n";
    let case = |rest: &str| case_file::parse(&format!("{text}{rest}"), &TimeZone::UTC).unwrap().cases.remove(0);
    let block = || {
        Observation::Block(ObservedBlock {
            text: "[Memories]\n- I am allergic to shrimp".to_owned(),
            records: Vec::new(),
            recalled: Vec::new(),
            rule: None,
            degraded: Vec::new(),
        })
    };
    let count = |rest: &str| evaluate(&case(rest), &block()).len();
    assert_eq!(count("expect = ['shrimp', '[memories]']"), 0);
    assert_eq!(count("expect = ['peanuts']"), 1);
    assert_eq!(count("forbid = ['shrimp', 'peanuts']"), 1);
    assert_eq!(count("abstain = true"), 0, "nothing was recalled");
}
