#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::BTreeSet;

use super::*;

#[derive(Deserialize)]
struct Sentences {
    convention: Vec<String>,
    decision: Vec<String>,
    person: Vec<String>,
    everywhere: Vec<String>,
    nothing: Vec<String>,
    code: Vec<String>,
}

fn tables() -> Vec<Sentences> {
    let files = [include_str!("../../tests/rules/en.toml"), include_str!("../../tests/rules/zh.toml")];
    files.into_iter().map(|file| memory_engine_text::load(&[file])).collect()
}

/// Returns what a text of one sentence is kept as, and whether it holds in all projects.
fn kept(text: &str) -> (Option<NoteClass>, bool) {
    let found = statements(text);
    found.first().map_or((None, false), |statement| (statement.class, statement.is_everywhere))
}

#[test]
fn sentences_are_kept_as_the_tables_say() {
    let mut wrong = Vec::new();
    let mut check = |sentences: &[String], fits: &dyn Fn((Option<NoteClass>, bool)) -> bool| {
        wrong.extend(sentences.iter().filter(|text| !fits(kept(text))).map(|text| (text.clone(), kept(text))));
    };
    for table in tables() {
        check(&table.convention, &|kept| kept == (Some(NoteClass::Convention), false));
        check(&table.decision, &|kept| kept == (Some(NoteClass::Decision), false));
        check(&table.person, &|kept| kept == (Some(NoteClass::Person), true));
        check(&table.everywhere, &|(class, is_everywhere)| class.is_some() && is_everywhere);
        check(&table.nothing, &|kept| kept == (None, false));
    }
    assert_eq!(wrong, []);
}

#[test]
fn code_is_no_prose_and_sentences_are() {
    for table in tables() {
        let code: Vec<&String> = table.code.iter().filter(|line| !prose(line).is_empty()).collect();
        assert_eq!(code, Vec::<&String>::new());
        for text in [table.convention, table.decision, table.person, table.everywhere, table.nothing].concat() {
            assert_eq!(prose(&text), text);
        }
    }
}

#[test]
fn every_rule_matches_a_sentence_and_every_expression_compiles() {
    INDEX.check().unwrap();
    let mut unused: BTreeSet<&str> = FILE.rules.iter().map(|rule| rule.id.as_str()).collect();
    for table in tables() {
        let all = [table.convention, table.decision, table.person, table.everywhere, table.code].concat();
        for matched in all.iter().flat_map(|text| INDEX.matches(text)) {
            let mut first = 0;
            for rule in &FILE.rules {
                if (first..first + rule.r#match.len()).contains(&matched) {
                    unused.remove(rule.id.as_str());
                }
                first += rule.r#match.len() + rule.unless.len();
            }
        }
    }
    assert_eq!(unused, BTreeSet::new());
}

#[test]
fn a_reason_belongs_to_the_decision_before_it() {
    let found = statements("We decided to drop Kafka. Reason: nobody operates it. Then fix the build.");
    let texts: Vec<&str> = found.iter().map(|statement| statement.text.as_str()).collect();
    assert_eq!(texts, ["We decided to drop Kafka. Reason: nobody operates it.", "Then fix the build."]);
    let found = statements("我们决定不用 Kafka。因为没人会运维。");
    assert_eq!(found.len(), 1);
}

#[test]
fn pasted_code_and_logs_state_nothing() {
    let pasted = "Look at this:\n```\n# We decided to use Oracle.\n```\n2026-11-27 10:00:01 WARN I prefer tabs.\nWhy?";
    let classes: Vec<Option<NoteClass>> = statements(pasted).into_iter().map(|statement| statement.class).collect();
    assert_eq!(classes, [None, None]);
}
