//! Key moments, from the coarse filter to the verdict.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use memory_engine_companion::{FILTER_EARLIER_MESSAGES, Language, MomentRule, MomentVerdict, Pack, ReplyFilter};
use proptest::prelude::*;

fn rule(id: &str) -> MomentRule {
    Pack::example().unwrap().moments.into_iter().find(|rule| rule.id == id).unwrap()
}

#[test]
fn a9_candidate_by_affection_words_and_history() {
    let rules = Pack::example().unwrap().moments;
    let candidate = |affection, happened: &[&str], text| {
        let happened: BTreeSet<String> = happened.iter().map(|&id| id.to_owned()).collect();
        MomentRule::candidates(&rules, affection, &happened, text, &[]).first().map(|found| found.rule.id.clone())
    };
    assert_eq!(candidate(0, &[], "你好呀").as_deref(), Some("first_meet"));
    assert_eq!(candidate(0, &[], "ＨＥＬＬＯ").as_deref(), Some("first_meet"));
    assert_eq!(candidate(0, &[], "this is nothing"), None, "hi within a word is not a greeting");
    assert_eq!(candidate(0, &["first_meet"], "你好呀"), None);
    assert_eq!(candidate(3500, &[], "你的分析错了").as_deref(), Some("first_mistake"));
    assert_eq!(candidate(3500, &[], "Your analysis was WRONG").as_deref(), Some("first_mistake"));
    for affection in [999, 5000] {
        assert_eq!(candidate(affection, &[], "你的分析错了"), None);
    }
}

#[test]
fn a9_words_of_earlier_messages_count() {
    let rules = Pack::example().unwrap().moments;
    let candidate = |message: &str, earlier: &[&str]| {
        let found = MomentRule::candidates(&rules, 5000, &BTreeSet::new(), message, earlier);
        found.first().map(|found| (found.rule.id.clone(), found.messages_back))
    };
    let word = |id: &str, messages_back| Some((id.to_owned(), messages_back));
    assert_eq!(candidate("嗯", &["我喜欢你", "（停顿）"]), word("confession", 2));
    assert_eq!(candidate("嗯", &["（停顿）我好像喜欢你"]), word("confession", 1), "the words of either speaker count");
    assert_eq!(candidate("她是我女朋友", &["我喜欢你", "嗯"]), word("first_jealous", 0), "the latest word decides");
    assert_eq!(candidate("我喜欢你", &["我喜欢你", "嗯", "真的？"]), word("confession", 3), "its first word is kept");
    let filler = ["面条真好吃"; FILTER_EARLIER_MESSAGES];
    let with_last = |count: usize| [&["我喜欢你"], &filler[..count]].concat();
    assert_eq!(candidate("嗯", &with_last(5)), word("confession", 6));
    assert_eq!(candidate("嗯", &with_last(6)), None, "seven messages ago is too long ago");
    assert_eq!(candidate("嗯", &[]), None);
}

#[test]
fn a9_rule_without_words_is_a_fallback() {
    let mut rules = Pack::example().unwrap().moments;
    rules[0].words.clear();
    let candidates = |message: &str| -> Vec<&str> {
        let found = MomentRule::candidates(&rules, 900, &BTreeSet::new(), message, &[]);
        found.iter().map(|found| found.rule.id.as_str()).collect()
    };
    assert_eq!(candidates("今天有点累"), ["first_why"]);
    assert_eq!(candidates("面条真好吃"), ["first_meet"]);
}

#[test]
fn a9_several_candidates_are_ordered_by_their_words() {
    let rules = Pack::example().unwrap().moments;
    let earlier = ["Aicy，你的分析错了", "（低头）"];
    let found = MomentRule::candidates(&rules, 2000, &BTreeSet::new(), "今天太累了", &earlier);
    let found: Vec<&str> = found.iter().map(|found| found.rule.id.as_str()).collect();
    assert_eq!(found, ["first_why", "first_name", "first_mistake"]);
}

#[test]
fn a9_verdict_with_a_false_quote_is_unclear() {
    let rule = rule("first_mistake");
    let said = ["你的分析错了", "没关系，市场本来就不可预测"];
    let happened = |quote: &str| {
        let written = format!("{{\"moment\":\"first_mistake\",\"outcome\":\"原谅\",\"quote\":\"{quote}\"}}");
        rule.verdict(Some(&written), &said) != MomentVerdict::Unclear
    };
    for quote in ["没关系", "沒關係，市場本來就不可預測。", "没关系,市场本来就不可预测", "…", ""]
    {
        assert!(happened(quote), "{quote}");
    }
    for quote in ["我原谅你了", "没关系，下次努力", "...我以为我不会犯错的。"] {
        assert!(!happened(quote), "{quote}");
    }
}

#[test]
fn a9_prompt_section() {
    let section = rule("first_mistake").section(Language::Chinese);
    let document = "【可能触发的关键时刻】\n当前可能触发：#4 第一次犯错\n\n触发条件：用户对 Aicy 的错误分析做出回应\n\
                    如果用户表现出包容/原谅，触发该时刻，并在回复中体现 Aicy 的成长。\n";
    assert!(section.starts_with(document), "{section}");
    insta::assert_snapshot!(section);
    insta::assert_snapshot!(rule("first_meet").section(Language::English));
}

#[test]
fn a9_verdict_variations() {
    let rule = rule("first_mistake");
    let read = |text: &str| match rule.verdict(Some(text), &[]) {
        MomentVerdict::Happened(outcome) => outcome.name.clone(),
        MomentVerdict::DidNotHappen => "none".into(),
        MomentVerdict::Unclear => "unclear".into(),
    };
    for (text, expected) in [
        (r#"{"moment":"first_mistake","outcome":"原谅"}"#, "原谅"),
        (r#"{"moment":"first_mistake","outcome":"責備"}"#, "责备"),
        ("```json\n{'moment': 4, outcome}\n```", "unclear"),
        ("```json\n{\"moment\": 4, \"outcome\": \"原谅\",}\n```", "原谅"),
        (r#"{"moment":"first_mistake","outcome":"none"}"#, "none"),
        (r#"{"moment":"first_mistake","triggered":false}"#, "none"),
        (r#"{"moment":"first_mistake","triggered":true}"#, "原谅"),
        (r#"{"moment":"first_mistake","outcome":"原谅","triggered":"no"}"#, "none"),
        (r#"{"moment":"confession","outcome":"认真"}"#, "none"),
        (r#"{"outcome":"用户原谅了她"}"#, "原谅"),
        ("first_mistake: 原谅", "原谅"),
        ("first_mistake：责备", "责备"),
        ("触发", "原谅"),
        ("未触发", "none"),
        ("yes", "原谅"),
        ("No.", "none"),
        ("", "unclear"),
        ("{}", "unclear"),
        ("原谅还是责备", "unclear"),
        ("嗯", "unclear"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
    assert_eq!(rule.verdict(None, &[]), MomentVerdict::Unclear);
}

#[test]
fn a9_verdict_and_thoughts_are_removed() {
    for (reply, seen, verdict) in [
        ("好呀～\n<verdict>{\"outcome\":\"x\"}</verdict>", "好呀～", Some("{\"outcome\":\"x\"}")),
        ("好呀～", "好呀～", None),
        ("好呀～ <VERDICT id='1'> yes </Verdict >\n", "好呀～", Some("yes")),
        ("好呀～＜verdict＞是＜／verdict＞", "好呀～", Some("是")),
        ("a\n<verdict>no</verdict>\nb", "a\n\nb", Some("no")),
        ("a <verdict>{\"outcome\":\"x\"}\n再见", "a \n再见", Some("{\"outcome\":\"x\"}")),
        ("a <verdict>yes", "a", Some("yes")),
        ("<think>他原谅我了吗</think>\n\n没事。", "没事。", None),
        ("<think>cut off", "", None),
        ("1 < 2, <verdicts> and <b>", "1 < 2, <verdicts> and <b>", None),
        ("a<verdict>1</verdict><verdict>2</verdict>", "a", Some("1")),
        ("  hi  there  ", "hi  there", None),
    ] {
        assert_eq!(ReplyFilter::read(reply), (seen.to_owned(), verdict.map(str::to_owned)), "{reply}");
    }
}

proptest! {
    #[test]
    fn pieces_give_the_same_as_the_whole_reply(
        reply in "([a-c你好 \n<＜>/]|<verdict>|</verdict>|<verd|<think>|</think>|\\{|\\}){0,24}",
        sizes in prop::collection::vec(1_usize..5, 1..12),
    ) {
        let whole = ReplyFilter::read(&reply);
        let letters: Vec<char> = reply.chars().collect();
        let (mut filter, mut seen, mut from) = (ReplyFilter::default(), String::new(), 0);
        for size in sizes.iter().cycle() {
            if from >= letters.len() {
                break;
            }
            let piece: String = letters[from..].iter().take(*size).collect();
            seen.push_str(&filter.push(&piece));
            from += size;
        }
        let end = filter.finish();
        seen.push_str(&end.rest);
        prop_assert_eq!((seen, end.verdict), whole);
    }

    #[test]
    fn text_without_tags_is_unchanged(reply in "[a-zA-Z你好。<>＜ \n]{0,40}") {
        prop_assume!(!reply.to_lowercase().contains("verdict") && !reply.contains("think"));
        prop_assert_eq!(ReplyFilter::read(&reply).0, reply.trim());
    }
}
