//! Text, sources and records of summaries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use futures::executor::block_on;
use memory_engine_core::{ErrorKind, Kind, Locale, ManualClock, Record, Role, Scope, Timestamp, Trust};
use memory_engine_llm::{ScriptedModel, ScriptedReply};
use memory_engine_summarizer::{
    ChatFacts, ChatMetadata, ChatSummarizer, ExtractiveSummarizer, FactExtractor, MetadataExtractor, RuleFacts,
    RuleMetadata, Summarizer, SummaryRequest, sentences,
};
use proptest::prelude::*;

fn turns(lines: &[(Role, &str)]) -> Vec<Record> {
    let turn = |(n, (role, text)): (usize, &(Role, &str))| {
        let at: Timestamp = "2024-05-01T10:00:00Z".parse().unwrap();
        let at = at.after(std::time::Duration::from_secs(60 * n as u64));
        let mut turn = Record::new(Scope::user("lin").unwrap(), Kind::TURN, *text, &ManualClock::new(at));
        turn.trust = if *role == Role::ASSISTANT { Trust::Assistant } else { Trust::User };
        turn.role = Some(role.clone());
        turn.scene = Some("daily".into());
        turn.source.sequence = i64::try_from(n).ok();
        turn
    };
    lines.iter().enumerate().map(turn).collect()
}

fn chinese() -> Vec<Record> {
    turns(&[
        (Role::SYSTEM, "你是一个系统提示，海鲜海鲜海鲜。"),
        (Role::USER, "你好呀"),
        (Role::ASSISTANT, "你好！今天想聊点什么？"),
        (Role::USER, "我下周三要去虹桥面试，有点紧张。我对海鲜过敏，面试前不想吃坏肚子。"),
        (Role::ASSISTANT, "面试前一天吃清淡一点，海鲜就别吃了。面试的材料准备好了吗？"),
        (Role::USER, "准备好了"),
        (Role::ASSISTANT, "那就早点休息，面试加油！\n\nRelevant long-term memory:\n- 用户喜欢爬山"),
        (Role::USER, "我对海鲜过敏，面试前不想吃坏肚子。"),
    ])
}

fn english() -> Vec<Record> {
    turns(&[
        (Role::USER, "I adopted a puppy named Biscuit last weekend. She chews everything in the apartment."),
        (Role::ASSISTANT, "Congratulations! Puppies chew a lot while teething. Have you tried frozen toys?"),
        (Role::USER, "Not yet"),
        (Role::ASSISTANT, "Frozen toys soothe the gums, and a crate keeps the puppy away from the apartment's cables."),
        (Role::USER, "I'll buy a crate on Friday. My landlord doesn't know about the puppy though."),
    ])
}

#[test]
fn an_extract_tells_what_matters_once_in_order_with_its_speakers() {
    let summary = ExtractiveSummarizer::default().summary(&chinese(), &SummaryRequest::default()).unwrap();
    let text = &summary.text;
    assert!(text.starts_with("[2024-05-01] 用户："), "{text}");
    assert!(text.contains("虹桥面试") && text.contains("助手："), "{text}");
    assert_eq!(text.matches("海鲜过敏").count(), 1, "{text}");
    assert!(!text.contains("系统提示") && !text.contains("爬山") && !text.contains("你好呀"), "{text}");
    let text = ExtractiveSummarizer::default().summary(&english(), &SummaryRequest::default()).unwrap().text;
    assert!(text.contains("User: I adopted a puppy named Biscuit last weekend.") && text.contains("crate"), "{text}");
    assert!(text.find("Biscuit").unwrap() < text.find("crate on Friday").unwrap(), "{text}");
}

#[test]
fn a_short_answer_comes_with_its_question() {
    let asked = turns(&[(Role::ASSISTANT, "Which city should the wedding reception be in?"), (Role::USER, "Lisbon")]);
    let text = ExtractiveSummarizer::default().summary(&asked, &SummaryRequest::default()).unwrap().text;
    assert!(text.contains("Which city should the wedding reception be in? Lisbon"), "{text}");
}

#[test]
fn a_summary_is_the_record_of_exactly_its_turns() {
    let turns = chinese();
    let summary = ExtractiveSummarizer::default().summary(&turns, &SummaryRequest::default()).unwrap();
    let scope = Scope::user("lin").unwrap();
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let record = summary.to_record(&turns, &scope, now).unwrap();
    record.validate().unwrap();
    let said: Vec<_> = turns[1..].iter().map(|turn| turn.id).collect();
    assert_eq!((record.kind.clone(), record.trust, record.derived_from.clone()), (Kind::SUMMARY, Trust::Derived, said));
    assert_eq!(
        (record.scene.as_deref(), record.occurred_at, record.source.sequence),
        (Some("daily"), turns[7].occurred_at, Some(7))
    );
    let again = ExtractiveSummarizer::default().summary(&turns, &SummaryRequest::default().with_max_chars(80)).unwrap();
    assert_eq!(again.to_record(&turns, &scope, now).unwrap().id, record.id);
    let mut edited = turns.clone();
    edited[3].text.push_str("改到周五了。");
    let other = ExtractiveSummarizer::default().summary(&edited, &SummaryRequest::default()).unwrap();
    assert_ne!(other.to_record(&edited, &scope, now).unwrap().id, record.id);
    assert_eq!(summary.to_record(&turns[2..], &scope, now).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_model_gets_what_was_said_and_its_answer_is_kept_within_bounds() {
    let model = ScriptedModel::replying([
        "<think>hm</think>摘要：用户下周三要去虹桥面试。用户对海鲜过敏，正在准备材料，有些紧张，打算早点休息，吃得清淡一些，并且已经准备好了。",
    ]);
    let summarizer = ChatSummarizer::new(Arc::new(model.clone()));
    let beijing = jiff::tz::TimeZone::fixed(jiff::tz::offset(8));
    let request = SummaryRequest::default().with_max_chars(40).with_zone(beijing);
    let summary = block_on(summarizer.summarize(&chinese(), &request)).unwrap();
    assert_eq!(summary.text, "用户下周三要去虹桥面试。");
    assert!(summary.degraded.is_none());
    let asked = &model.requests()[0].messages;
    assert!(asked[0].content.contains("用中文写，不超过40个字"));
    assert!(asked[1].content.contains("[2024-05-01 18:03] user: 我下周三") && !asked[1].content.contains("系统提示"));
    assert!(!asked[1].content.contains("爬山"));
}

#[test]
fn a_failing_model_leaves_the_extract_and_says_so() {
    let half = "Sure! {\"summary\": \"The user";
    for script in [ScriptedReply::Fail(ErrorKind::Timeout), "…".into(), "".into(), half.into()] {
        let summarizer = ChatSummarizer::new(Arc::new(ScriptedModel::replying([script])));
        let summary = block_on(summarizer.summarize(&english(), &SummaryRequest::default())).unwrap();
        assert!(summary.degraded.is_some() && summary.text.contains("Biscuit"));
    }
    let nothing = block_on(ExtractiveSummarizer::default().summarize(&[], &SummaryRequest::default()));
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_models_facts_are_held_against_what_was_said() {
    let answer = r#"{"facts": [
        {"n": 1, "subject": "user", "slot": "hobby", "value": "Argentine tango", "polarity": "positive", "cardinality": "many", "type": "preference", "text": "The user dances tango."},
        {"n": 1, "subject": "user", "slot": "home", "value": "Paris", "polarity": "positive", "cardinality": "many", "type": "fact", "text": "The user lives in Paris."},
        {"n": 2, "subject": "user", "slot": "hobby", "value": "chess", "polarity": "positive", "cardinality": "many", "type": "preference", "text": "x"},
        {"n": 9, "subject": "user", "slot": "hobby", "value": "tango", "polarity": "positive", "cardinality": "many", "type": "preference", "text": "x"},
        {"n": 1, "subject": "user", "slot": "dance class", "value": "tango", "polarity": "positive", "cardinality": "many", "type": "fact", "text": "x"},
        {"n": 1, "subject": "user", "slot": "allergy", "value": "nuts", "polarity": "positive", "cardinality": "single", "type": "state", "text": "x"}
    ]}"#;
    let said = turns(&[
        (Role::USER, "On Tuesdays I dance Argentine tango. I'm allergic to nuts."),
        (Role::ASSISTANT, "Do you play chess, too?"),
    ]);
    let facts = ChatFacts::new(Arc::new(ScriptedModel::replying([answer])), RuleFacts::built_in().unwrap());
    let found = block_on(facts.extract(&said, &Locale::default())).unwrap();
    let told: Vec<_> = found.facts.iter().map(|fact| (fact.slot.as_str(), fact.value.as_str())).collect();
    assert_eq!(told, [("allergy", "nuts"), ("hobby", "Argentine tango")]);
    assert!(found.degraded.is_none() && found.facts[1].confidence > 0.8);
    let failing = ChatFacts::new(Arc::new(ScriptedModel::replying(["no"; 2])), RuleFacts::built_in().unwrap());
    let found = block_on(failing.extract(&said, &Locale::default())).unwrap();
    assert_eq!((found.facts.len(), found.degraded.unwrap().kind()), (1, ErrorKind::InvalidInput));
}

#[test]
fn a_models_labels_are_held_against_their_turns() {
    let said = turns(&[(Role::USER, "今天和小王在外滩散步，好开心"), (Role::USER, "气死我了")]);
    let answer = r#"{"turns": [
        {"n": 2, "topic": null, "entities": ["小李"], "emotion": "狂怒"},
        {"n": 1, "topic": "外滩散步", "entities": ["小王", "外滩", "陆家嘴"], "emotion": "开心"}
    ]}"#;
    let labels = ChatMetadata::new(Arc::new(ScriptedModel::replying([answer])), RuleMetadata::default());
    let found = block_on(labels.extract(&said)).unwrap();
    assert_eq!(
        (found.turns[0].topic.as_deref(), found.turns[0].entities.as_slice()),
        (Some("外滩散步"), ["小王".to_owned(), "外滩".to_owned()].as_slice())
    );
    assert_eq!(
        (found.turns[0].emotion.as_deref(), &found.turns[1].entities, &found.turns[1].emotion),
        (Some("开心"), &vec![], &None)
    );
    let half = ChatMetadata::new(Arc::new(ScriptedModel::replying([r#"{"turns": []}"#])), RuleMetadata::default());
    let found = block_on(half.extract(&said)).unwrap();
    assert_eq!(found.turns[1].emotion.as_deref(), Some("生气"));
    assert!(found.degraded.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_extract_keeps_within_its_length_and_says_nothing_that_was_not_said(
        texts in proptest::collection::vec("([a-z]{3,9} ){2,9}[.?!]|[一-龟]{4,20}。|\\PC{0,30}", 1..12), most in 40_usize..300,
    ) {
        let lines: Vec<(Role, &str)> = texts.iter().enumerate().map(|(n, text)| (if n % 2 == 0 { Role::USER } else { Role::ASSISTANT }, text.as_str())).collect();
        let turns = turns(&lines);
        let summary = ExtractiveSummarizer::default().summary(&turns, &SummaryRequest::default().with_max_chars(most)).unwrap();
        prop_assert!(summary.text.chars().count() <= most);
        prop_assert_eq!(summary.covered.len(), turns.len());
        let told = sentences(&summary.text).len();
        prop_assert!(told <= 2 * texts.len() + summary.text.matches('\n').count() + texts.iter().map(|text| sentences(text).len()).sum::<usize>());
    }
}
