//! Summaries, and facts and metadata by a model.
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
use serde_json::json;

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
fn extracts_have_the_main_points_in_order_with_speakers() {
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
fn short_answers_are_written_with_their_question() {
    let asked = turns(&[(Role::ASSISTANT, "Which city should the wedding reception be in?"), (Role::USER, "Lisbon")]);
    let text = ExtractiveSummarizer::default().summary(&asked, &SummaryRequest::default()).unwrap().text;
    let expected = "Assistant: Which city should the wedding reception be in? User: Lisbon";
    assert!(text.contains(expected), "{text}");
    let asked =
        turns(&[(Role::USER, "Is it rude to leave a wedding before the cake?"), (Role::ASSISTANT, "Not at all.")]);
    let text = ExtractiveSummarizer::default().summary(&asked, &SummaryRequest::default()).unwrap().text;
    assert!(text.contains("User: Is it rude to leave a wedding before the cake? Assistant: Not at all."), "{text}");
    let asked = turns(&[(Role::USER, "婚礼上提前离席会不会不礼貌？"), (Role::ASSISTANT, "完全不会。")]);
    let text = ExtractiveSummarizer::default().summary(&asked, &SummaryRequest::default()).unwrap().text;
    assert!(text.contains("用户：婚礼上提前离席会不会不礼貌？ 助手：完全不会。"), "{text}");
}

#[test]
fn summary_records_are_derived_from_their_turns() {
    let turns = chinese();
    let summary = ExtractiveSummarizer::default().summary(&turns, &SummaryRequest::default()).unwrap();
    let scope = Scope::user("lin").unwrap();
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let record = summary.to_record(&turns, &scope, now).unwrap();
    record.validate().unwrap();
    let messages: Vec<_> = turns[1..].iter().map(|turn| turn.id).collect();
    assert_eq!(
        (record.kind.clone(), record.trust, record.derived_from.clone()),
        (Kind::SUMMARY, Trust::Derived, messages)
    );
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
fn model_summaries_are_limited_to_max_chars() {
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
fn a_failing_model_degrades_to_an_extract() {
    let half = "Sure! {\"summary\": \"The user";
    for script in [ScriptedReply::Fail(ErrorKind::Timeout), "…".into(), "".into(), half.into()] {
        let summarizer = ChatSummarizer::new(Arc::new(ScriptedModel::replying([script])));
        let summary = block_on(summarizer.summarize(&english(), &SummaryRequest::default())).unwrap();
        assert!(summary.degraded.is_some() && summary.text.contains("Biscuit"));
    }
    let without_turns = block_on(ExtractiveSummarizer::default().summarize(&[], &SummaryRequest::default()));
    assert_eq!(without_turns.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn model_facts_are_checked_against_the_messages() {
    let fact = |n: usize, slot: &str, value: &str, cardinality: &str, kind: &str, text: &str| {
        json!({
            "n": n, "subject": "user", "slot": slot, "value": value, "polarity": "positive",
            "cardinality": cardinality, "type": kind, "text": text,
        })
    };
    let answer = json!({"facts": [
        fact(1, "hobby", "Argentine tango", "many", "preference", "The user dances tango."),
        fact(1, "home", "Paris", "many", "fact", "The user lives in Paris."),
        fact(2, "hobby", "chess", "many", "preference", "x"),
        fact(9, "hobby", "tango", "many", "preference", "x"),
        fact(1, "dance class", "tango", "many", "fact", "x"),
        fact(1, "allergy", "nuts", "single", "state", "x"),
    ]})
    .to_string();
    let messages = turns(&[
        (Role::USER, "On Tuesdays I dance Argentine tango. I'm allergic to nuts."),
        (Role::ASSISTANT, "Do you play chess, too?"),
    ]);
    let facts = ChatFacts::new(Arc::new(ScriptedModel::replying([answer.as_str()])), RuleFacts::built_in().unwrap());
    let found = block_on(facts.extract(&messages, &Locale::default())).unwrap();
    let values: Vec<_> = found.facts.iter().map(|fact| (fact.slot.as_str(), fact.value.as_str())).collect();
    assert_eq!(values, [("allergy", "nuts"), ("hobby", "Argentine tango")]);
    assert!(found.degraded.is_none() && found.facts[1].confidence > 0.8);
    let failing = ChatFacts::new(Arc::new(ScriptedModel::replying(["no"; 2])), RuleFacts::built_in().unwrap());
    let found = block_on(failing.extract(&messages, &Locale::default())).unwrap();
    assert_eq!((found.facts.len(), found.degraded.unwrap().kind()), (1, ErrorKind::InvalidInput));
}

#[test]
fn model_metadata_is_checked_against_the_turns() {
    let messages = turns(&[(Role::USER, "今天和小王在外滩散步，好开心"), (Role::USER, "气死我了")]);
    let answer = r#"{"turns": [
        {"n": 2, "topic": null, "entities": ["小李"], "emotion": "狂怒"},
        {"n": 1, "topic": "外滩散步", "entities": ["小王", "外滩", "陆家嘴"], "emotion": "开心"}
    ]}"#;
    let labels = ChatMetadata::new(Arc::new(ScriptedModel::replying([answer])), RuleMetadata::default());
    let found = block_on(labels.extract(&messages)).unwrap();
    assert_eq!(
        (found.turns[0].topic.as_deref(), found.turns[0].entities.as_slice()),
        (Some("外滩散步"), ["小王".to_owned(), "外滩".to_owned()].as_slice())
    );
    assert_eq!(
        (found.turns[0].emotion.as_deref(), &found.turns[1].entities, &found.turns[1].emotion),
        (Some("开心"), &vec![], &None)
    );
    let half = ChatMetadata::new(Arc::new(ScriptedModel::replying([r#"{"turns": []}"#])), RuleMetadata::default());
    let found = block_on(half.extract(&messages)).unwrap();
    assert_eq!(found.turns[1].emotion.as_deref(), Some("生气"));
    assert!(found.degraded.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn extracts_are_limited_to_max_chars(
        texts in proptest::collection::vec("([a-z]{3,9} ){2,9}[.?!]|[一-龟]{4,20}。|\\PC{0,30}", 1..12),
        max_chars in 40_usize..300,
    ) {
        let role = |n: usize| if n.is_multiple_of(2) { Role::USER } else { Role::ASSISTANT };
        let lines: Vec<(Role, &str)> = texts.iter().enumerate().map(|(n, text)| (role(n), text.as_str())).collect();
        let turns = turns(&lines);
        let request = SummaryRequest::default().with_max_chars(max_chars);
        let summary = ExtractiveSummarizer::default().summary(&turns, &request).unwrap();
        prop_assert!(summary.text.chars().count() <= max_chars);
        prop_assert_eq!(summary.covered.len(), turns.len());
        let written = sentences(&summary.text).len();
        let line_breaks = summary.text.matches('\n').count();
        let original = texts.iter().map(|text| sentences(text).len()).sum::<usize>();
        prop_assert!(written <= 2 * texts.len() + line_breaks + original);
    }
}
