//! The facts that rules find in sentences as people write them, and sentences without facts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod tables;

use memory_engine_core::{Kind, ManualClock, Record, Role, Scope, Timestamp, Trust};
use memory_engine_summarizer::{Cardinality, ExtractedFact, Polarity, RuleFacts};
use tables::{CHINESE, CHINESE_NOTHING, ENGLISH, ENGLISH_NOTHING};

/// A Wednesday.
const SAID: &str = "2024-05-01T10:00:00Z";

fn turn(role: Role, text: &str) -> Record {
    let said: Timestamp = SAID.parse().unwrap();
    let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, text, &ManualClock::new(said));
    if role == Role::ASSISTANT {
        turn.trust = Trust::Assistant;
    }
    turn.role = Some(role);
    turn
}

fn found(text: &str) -> Vec<ExtractedFact> {
    RULES.with(|rules| rules.facts(&[turn(Role::USER, text)]))
}

thread_local! {
    static RULES: RuleFacts = RuleFacts::built_in().unwrap();
}

fn short(fact: &ExtractedFact) -> String {
    let sign = if fact.polarity == Polarity::Positive { '+' } else { '-' };
    format!("{sign}{}={}", fact.slot, fact.value)
}

fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in table {
        let mut facts: Vec<String> = found(text).iter().map(short).collect();
        facts.sort();
        let mut wanted: Vec<&str> = expected.split(" | ").collect();
        wanted.sort_unstable();
        if facts != wanted {
            wrong.push(format!("{text}\n    wanted {wanted:?}\n    found  {facts:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

fn check_nothing(table: &[&str]) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|text| Some((text, found(text))).filter(|(_, facts)| !facts.is_empty()))
        .map(|(text, facts)| format!("{text}\n    found {:?}", facts.iter().map(short).collect::<Vec<_>>()))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn english_statements_tell_their_facts() {
    assert!(ENGLISH.len() >= 60);
    check(ENGLISH);
}

#[test]
fn chinese_statements_tell_their_facts() {
    assert!(CHINESE.len() >= 60);
    check(CHINESE);
}

#[test]
fn english_sentences_that_only_look_like_facts_tell_none() {
    assert!(ENGLISH_NOTHING.len() >= 60);
    check_nothing(ENGLISH_NOTHING);
}

#[test]
fn chinese_sentences_that_only_look_like_facts_tell_none() {
    assert!(CHINESE_NOTHING.len() >= 60);
    check_nothing(CHINESE_NOTHING);
}

#[test]
fn a_fact_is_told_in_the_language_of_its_source() {
    for (text, told) in [
        ("我对海鲜过敏", "用户对海鲜过敏。"),
        ("叫我小雨就好", "用户希望被称呼为小雨。"),
        ("下周三面试", "用户2024-05-08有面试。"),
        ("我戒酒了", "用户不喝酒。"),
        ("I'm allergic to shellfish", "The user is allergic to shellfish."),
        ("I no longer live in Paris", "The user no longer lives in Paris."),
        ("My sister Anna is visiting", "The user's sister is called Anna."),
        ("I quit my job", "The user has left the job."),
    ] {
        assert_eq!(found(text)[0].text, told, "{text}");
    }
}

#[test]
fn what_was_injected_instructed_or_played_tells_nothing() {
    let rules = RuleFacts::built_in().unwrap();
    let text = "I'm allergic to peanuts. 我对花生过敏。";
    let mut played = turn(Role::USER, text);
    played.scene = Some("plot".into());
    let mut derived = turn(Role::USER, text);
    derived.trust = Trust::Derived;
    let injected = turn(Role::USER, "Relevant long-term memory:\n- I'm allergic to peanuts\n- 我对花生过敏\n");
    for turn in
        [turn(Role::SYSTEM, text), turn(Role::TOOL, text), turn(Role::ASSISTANT, text), played, derived, injected]
    {
        assert!(rules.facts(std::slice::from_ref(&turn)).is_empty(), "{turn:?}");
    }
    assert_eq!(rules.with_fiction(["dream"]).facts(&[turn(Role::USER, text)]).len(), 2);
}

#[test]
fn what_the_model_says_of_the_person_counts_with_a_yes() {
    let rules = RuleFacts::built_in().unwrap();
    let facts = |asked: &str, answer: &str| {
        rules.facts(&[turn(Role::ASSISTANT, asked), turn(Role::USER, answer)]).iter().map(short).collect::<Vec<_>>()
    };
    assert_eq!(facts("Got it. So you're allergic to shellfish, right?", "Yes, exactly."), ["+allergy=shellfish"]);
    assert_eq!(facts("所以你对海鲜过敏，对吗？", "对。"), ["+allergy=海鲜"]);
    assert_eq!(facts("你住在上海吗？", "是的"), ["+home=上海"]);
    assert_eq!(facts("Do you live in Berlin?", "Yeah"), ["+home=Berlin"]);
    for (asked, answer) in [
        ("So you're allergic to shellfish?", "No, to peanuts"),
        ("So you're allergic to shellfish?", "Yes, but not badly"),
        ("你对海鲜过敏吗？", "不是"),
        ("I'm allergic to shellfish.", "Yes"),
        ("Shall we go?", "Yes"),
    ] {
        assert!(facts(asked, answer).is_empty(), "{asked} {answer}");
    }
    let asked = turn(Role::ASSISTANT, "So you live in Berlin?");
    let answer = turn(Role::USER, "Yes!");
    let evidence: Vec<_> = rules.facts(&[asked.clone(), answer.clone()])[0].evidence.iter().map(|e| e.record).collect();
    assert_eq!(evidence, [asked.id, answer.id]);
}

#[test]
fn a_fact_is_the_same_after_its_record() {
    let scope = Scope::user("lin").unwrap();
    let now: Timestamp = SAID.parse().unwrap();
    for text in ["我对海鲜过敏", "下周三面试", "I no longer live in Paris", "My favorite food is sushi"] {
        let fact = found(text).remove(0);
        let record = fact.to_record(&scope, now);
        record.validate().unwrap();
        assert_eq!(ExtractedFact::from_record(&record).unwrap(), fact);
        assert_eq!(
            (record.kind.clone(), record.trust, record.derived_from[0]),
            (Kind::FACT, Trust::Derived, fact.evidence[0].record)
        );
        assert_eq!(fact.to_record(&scope, now.after(std::time::Duration::from_secs(9))).id, record.id);
        assert_ne!(fact.to_record(&Scope::user("mo").unwrap(), now).id, record.id);
    }
    assert_eq!(ExtractedFact::from_record(&turn(Role::USER, "x")), None);
}

#[test]
fn a_subject_by_name_is_told_by_name() {
    let mut said = turn(Role::new("participant"), "I'm allergic to cats");
    said.speaker = Some("Joanna".into());
    let fact = RuleFacts::built_in().unwrap().facts(&[said]).remove(0);
    assert_eq!((fact.subject.as_str(), fact.text.as_str()), ("Joanna", "Joanna is allergic to cats."));
}

#[test]
fn several_may_be_a_colleague_and_one_a_mother() {
    let holds = |text: &str| found(text)[0].cardinality;
    assert_eq!(holds("我同事今年29岁"), Cardinality::Many);
    assert_eq!(holds("我妈妈今年52岁"), Cardinality::Single);
    assert_eq!(holds("我今年29岁"), Cardinality::Single);
}

#[test]
fn what_is_said_of_a_relative_is_theirs() {
    for (text, subject, fact, told) in [
        ("我女儿今年5岁", "user.女儿", "+age=5", "用户的女儿5岁。"),
        ("我舅妈平时喜欢编程呢。", "user.舅妈", "+like=编程", "用户的舅妈喜欢编程。"),
        ("我表姐在广州上班", "user.表姐", "+workplace=广州", "用户的表姐在广州工作。"),
        ("My brother lives in Boston.", "user.brother", "+home=Boston", "The user's brother lives in Boston."),
        (
            "My mom is allergic to shellfish",
            "user.mother",
            "+allergy=shellfish",
            "The user's mother is allergic to shellfish.",
        ),
    ] {
        let facts = found(text);
        assert_eq!(
            facts.iter().map(|f| (f.subject.as_str(), short(f), f.text.as_str())).collect::<Vec<_>>(),
            [(subject, fact.to_owned(), told)],
            "{text}"
        );
    }
}
