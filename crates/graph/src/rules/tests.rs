//! Tests of each rule: a text with its names and a near miss.

use memory_engine_core::RuleId;

use super::*;

/// A rule, a text, the names that the rule finds in it, and a near miss in which it finds none.
const CASES: &[(&str, &str, &[&str], &str)] = &[
    ("en.name.capitals", "I met Anna Reed at the Old Mill.", &["Anna Reed", "Old Mill"], "Nothing much happened."),
    ("zh.work.marks", "他是《红楼梦》的读者", &["红楼梦"], "他喜欢红楼梦"),
    ("zh.person.title", "昨天王医生说我没事。", &["王医生"], "昨天医生说我没事。"),
    ("zh.name.called", "有个孩子名叫小石头。", &["小石头"], "有个孩子名叫我的小石头。"),
    ("zh.person.subject", "林晓月说，好的。", &["林晓月"], "时间说明一切"),
    ("zh.place.ending", "我在杭州市的风清公司工作", &["杭州市", "风清公司"], "我们爬山去了"),
    ("zh.person.repeated", "桌上有沈砚的信，又读沈砚两首诗。", &["沈砚"], "桌上有沈砚的信。"),
    ("zh.place.known", "我下周去成都。", &["成都"], "我下周去爬山。"),
    ("zh.thing.vehicle", "船来了，众人登上飞鸿号。", &["飞鸿号"], "船来了，他记下三号。"),
    ("zh.thing.classifier", "他掏出一枚铜符。铜符很旧。", &["铜符"], "他掏出一枚铜符。"),
];

#[test]
fn a_short_name_of_a_thing_needs_three_occurrences() {
    let twice = "铜符在他手里。他把铜符交给我。";
    assert!(found_by("zh.thing.classifier", twice).is_empty());
    let found = found_by("zh.thing.classifier", &format!("{twice}铜符很旧。"));
    assert!(!found.is_empty() && found.iter().all(|name| name == "铜符"), "{found:?}");
}

fn found_by(rule: &str, text: &str) -> Vec<String> {
    names(text).filter(|(by, _)| *by == rule).map(|(_, mention)| mention.name).collect()
}

#[test]
fn rules_find_their_names_and_ignore_near_misses() {
    for (rule, text, expected, near_miss) in CASES {
        let mut found = found_by(rule, text);
        found.dedup();
        assert_eq!(found, *expected, "{rule}: {text}");
        assert!(found_by(rule, near_miss).is_empty(), "{rule}: {near_miss}");
    }
}

#[test]
fn every_rule_has_a_case_and_a_valid_id() {
    let mut rules = vec![
        english::CAPITALS_RULE,
        chinese::WORK_RULE,
        chinese::PERSON_RULE,
        chinese::REPEATED_RULE,
        chinese::VEHICLE_RULE,
        chinese::THING_RULE,
    ];
    rules.extend(chinese::RUN_RULES.iter().map(|rule| rule.id));
    rules.sort_unstable();
    let mut cases: Vec<&str> = CASES.iter().map(|(rule, ..)| *rule).collect();
    cases.sort_unstable();
    assert_eq!(rules, cases);
    assert!(rules.iter().all(|rule| RuleId::new(*rule).is_ok()));
}

#[test]
fn entities_of_one_sentence_are_related() {
    let relations = |text: &str| RuleExtractor::default().read(text, &[]).relations;
    let found = relations("I met Anna Reed in Hamburg.");
    assert_eq!(found, [Relation::new("Anna Reed", CO_OCCURS, "Hamburg").with_rule(CO_OCCURRENCE_RULE)]);
    assert!(relations("I met Anna Reed. Then I flew to Hamburg.").is_empty());
}

/// Regression: an ending inside a longer one made the search begin after its own position.
#[test]
fn an_ending_inside_a_longer_one_is_skipped() {
    for text in ["我在杭州风清有限公司工作", "她在北海道群岛山庄工作室", "他去了星河俱乐部研究所大学医院"]
    {
        let _ = names(text).count();
    }
}
