//! Tests of each trigger of automatic injection: messages that fire it and messages that must not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_context::{Action, IncomingMessage, InjectionRules, Rule};
use memory_engine_core::{Language, RuleId};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    fires: Vec<String>,
    near_misses: Vec<String>,
}

/// The scene in which a trigger counts.
fn scene_of(trigger: &str) -> &'static str {
    if trigger.contains(".plot-recall.") { "plot" } else { "daily" }
}

/// Returns the built-in trigger that fires on a message. For a trigger of feelings, questions about the past are off.
fn fired_by(trigger: &str, text: &str) -> Option<RuleId> {
    let is_continuation = trigger.contains(".continuation.");
    let round = if is_continuation { 1 } else { 3 };
    let message = IncomingMessage { round, scene: scene_of(trigger), text };
    let mut rules = InjectionRules::of_document();
    rules.cold_start.always = !is_continuation;
    if trigger.contains(".emotion.") {
        rules.recall.enabled = false;
    }
    rules.decide(&message).trigger
}

fn check(language: Language, tables: &str) {
    let tables: BTreeMap<String, Table> = toml::from_str(tables).unwrap();
    let ids = InjectionRules::built_in_triggers(language);
    assert_eq!(ids.iter().map(RuleId::as_str).collect::<BTreeSet<_>>(), tables.keys().map(String::as_str).collect());
    for (trigger, table) in &tables {
        assert!(!table.fires.is_empty() && !table.near_misses.is_empty(), "{trigger}");
        for text in &table.fires {
            let fired = fired_by(trigger, text);
            // Triggers of one rule may overlap; the rule has to be the same.
            let rule = |id: &str| id.rsplit_once('.').map(|(rule, _)| rule.to_owned());
            let same_rule = |id: &RuleId| rule(id.as_str()) == rule(trigger);
            assert!(fired.as_ref().is_some_and(same_rule), "{trigger}: {text}: {fired:?}");
            if trigger.contains(".emotion.") {
                assert_eq!(fired.unwrap().as_str(), trigger, "{text}");
            }
        }
        for text in &table.near_misses {
            let fired = fired_by(trigger, text);
            assert_ne!(fired.as_ref().map(RuleId::as_str), Some(trigger.as_str()), "{text}");
            let any =
                InjectionRules::of_document().decide(&IncomingMessage { round: 3, scene: scene_of(trigger), text });
            assert!(language == Language::Chinese || any.rule == Rule::Nothing, "{text}: {any:?}");
        }
    }
}

#[test]
fn every_chinese_trigger_has_a_table() {
    check(Language::Chinese, include_str!("triggers/zh.toml"));
}

#[test]
fn every_english_trigger_has_a_table() {
    check(Language::English, include_str!("triggers/en.toml"));
}

#[test]
fn the_language_decides_which_triggers_count() {
    let rules = InjectionRules::of_document();
    let decide = |text, language| rules.decide_in(&IncomingMessage { round: 3, scene: "daily", text }, language).rule;
    assert_eq!(decide("do you remember 小雨 吗", Language::Chinese), Rule::Nothing);
    assert_eq!(decide("do you remember 小雨 吗", Language::English), Rule::Recall);
    assert_eq!(decide("还记得吗", Language::English), Rule::Recall, "the Chinese triggers come second");
    let replaced = InjectionRules::from_toml(
        "[recall]\nwords = ['flashback']\n[emotion]\nemotions = []\n[relevant]\nenabled = false",
    )
    .unwrap();
    let decide = |text| replaced.decide(&IncomingMessage { round: 3, scene: "daily", text });
    assert_eq!(decide("Flashback!").trigger, None);
    assert_eq!((decide("do you remember?").rule, decide("I feel sad").rule), (Rule::Nothing, Rule::Nothing));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FreshMessages {
    recall: Vec<String>,
    feeling: Vec<String>,
    other: Vec<String>,
}

/// Returns the number of messages of each kind that get their rule: questions, feelings, neither.
fn hits(messages: &FreshMessages) -> [usize; 3] {
    let rules = InjectionRules::of_document();
    let count = |texts: &[String], rule: Rule| {
        let (right, wrong): (Vec<&String>, Vec<&String>) = texts
            .iter()
            .partition(|text| rules.decide(&IncomingMessage { round: 3, scene: "daily", text }).rule == rule);
        for text in wrong {
            println!("not {rule}: {text}");
        }
        right.len()
    };
    [
        count(&messages.recall, Rule::Recall),
        count(&messages.feeling, Rule::Emotion),
        count(&messages.other, Rule::Nothing),
    ]
}

#[test]
fn fresh_messages_reach_the_measured_hits() {
    let fresh: BTreeMap<String, FreshMessages> = toml::from_str(include_str!("triggers/fresh.toml")).unwrap();
    let at_least = |language: &str, measured: [usize; 3]| {
        let hits = hits(&fresh[language]);
        assert!(hits.iter().zip(measured).all(|(hits, measured)| *hits >= measured), "{language}: {hits:?}");
    };
    // Of 20 questions, 8 feelings and 12 other messages. The Chinese triggers are those of the document.
    at_least("english", [12, 7, 12]);
    at_least("chinese", [9, 5, 11]);
}

#[test]
fn an_english_question_is_searched_for_without_its_trigger() {
    let search_text = |round, text| {
        InjectionRules::of_document().decide(&IncomingMessage { round, scene: "daily", text }).search_text
    };
    assert_eq!(search_text(3, "Do you remember my dog's name?").as_deref(), Some("my dog's name?"));
    assert_eq!(
        search_text(1, "So, what did I tell you about peanuts?").as_deref(),
        Some("so, what i you about peanuts?")
    );
    assert_eq!(search_text(3, "Do you remember?"), None, "no text remains");
    assert_eq!(search_text(3, "You remember my dog?").as_deref(), Some("my dog?"), "the speaker stays");
    assert_eq!(search_text(3, "还记得我的猫吗"), None);
}

#[test]
fn a_phrase_that_names_what_is_searched_for_stays_in_the_search_text() {
    for text in ["What's my sister's job?", "where did i put the passport", "What music do I like?"] {
        let decision = InjectionRules::of_document().decide(&IncomingMessage { round: 3, scene: "daily", text });
        assert_eq!((decision.rule, decision.search_text), (Rule::Recall, None), "{text}");
    }
}

#[test]
fn vague_questions_about_the_past_have_actions_of_their_own() {
    let action = |text| InjectionRules::default().decide(&IncomingMessage { round: 3, scene: "daily", text }).action;
    for text in [
        "Can you summarize our last chat?",
        "What did we talk about yesterday?",
        "上回咱们讲了些啥",
        "上一次的话题是什么来着",
        "接着上次的内容聊",
    ] {
        assert_eq!(action(text), Action::PreviousSession, "{text}");
    }
    for text in
        ["So what do you remember about me?", "Do you know anything about me?", "你了解我吗", "你都记得我什么呀"]
    {
        assert_eq!(action(text), Action::AboutUser, "{text}");
    }
    for text in
        ["What did we say about the boiler last time?", "上次聊的房租是多少", "What do you know about my sister?"]
    {
        assert_eq!(action(text), Action::Search, "{text}");
    }
}

#[test]
fn backchannels_are_not_searched_for_and_feelings_are() {
    let decide = |round, text| InjectionRules::default().decide(&IncomingMessage { round, scene: "daily", text });
    for text in ["okay, thank you!", "hahaha cool", "嗯嗯，谢谢啦"] {
        assert_eq!(decide(3, text).rule, Rule::Nothing, "{text}");
        assert_eq!(decide(1, text).rule, Rule::Nothing, "{text}");
    }
    let feeling = decide(3, "I'm thrilled, we are having lobster tonight!");
    assert!(matches!(feeling.action, Action::SameEmotion { search: true, .. }), "{feeling:?}");
    assert_eq!(feeling.search_text.as_deref(), Some(", we are having lobster tonight!"));
}
