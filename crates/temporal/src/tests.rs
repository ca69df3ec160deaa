//! Tests of each rule: a text that it reads and a near miss that it does not read.

use std::{collections::BTreeSet, sync::LazyLock};

use jiff::tz::TimeZone;
use memory_engine_core::Timestamp;
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    calendar::Reference,
    chinese, english,
    find::{read_dates, read_dates_with},
    reading::{DateReader, RuleIndex},
    scan::Scan,
    window::label,
};

/// A rule, a text with the label of the window that the rule reads in it, and a near miss.
///
/// Everything is said on Tuesday, 9 May 2023, at noon.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("en.day.digits", "We met on 2023-03-02.", "2023-03-02", "version 2023-03-02-rc1"),
    ("en.offset.day-but-one", "I saw him the day before yesterday.", "2023-05-07", "I saw him the day before."),
    ("en.offset.weekday", "She left the Friday before 15 July 2023.", "2023-07-14", "the Friday before lunch"),
    ("en.offset.counted", "It was two days before May 7, 2023.", "2023-05-05", "two days before lunch"),
    ("en.ago", "We moved three weeks ago.", "2023-04-15/2023-04-21", "We moved three weeks later."),
    ("en.ago.weekday", "It was two Fridays ago.", "2023-04-28", "Two Fridays from now"),
    ("en.day.near", "I called her yesterday evening.", "2023-05-08", "all our yesterdays"),
    ("en.day.tonight", "Let us cook tonight.", "2023-05-09", "one of those tonights"),
    ("en.day.part", "I overslept this morning.", "2023-05-09", "this mornings are cold"),
    ("en.relative.over-weekend", "We hiked over the weekend.", "2023-05-06/2023-05-07", "over the weekends"),
    ("en.relative.unit", "I started last month.", "2023-04", "the last week of school"),
    ("en.relative.weekend", "They visit next weekend.", "2023-05-20/2023-05-21", "long weekend ahead"),
    ("en.relative.weekday", "The party was last Friday.", "2023-05-05", "Friday was fun."),
    ("en.relative.season", "I learned to swim last summer.", "2022-06-01/2022-08-31", "The summer was hot."),
    ("en.relative.month", "He was born last June.", "2022-06", "the last may be the best"),
    ("en.relative.holiday", "We met last Christmas.", "2022-12-24/2022-12-26", "We met at Christmas."),
    ("en.rolling.unit", "I slept badly the past week.", "2023-05-02/2023-05-09", "all in the past tense"),
    ("en.rolling.counted", "It rained for the last three days.", "2023-05-06/2023-05-09", "the last three days of May"),
    ("en.month.day-first", "The exam is on 7 May 2023.", "2023-05-07", "7 may be enough"),
    ("en.month.after-word", "I moved in March.", "2023-03", "they had left by march"),
    ("en.month.day", "Her birthday is May 7th.", "2023-05-07", "you may 7 times"),
    ("en.month.year", "It opened January 2022.", "2022-01", "January was cold."),
    ("en.year.season", "It was the summer of 2021.", "2021-06-01/2021-08-31", "the summer of love"),
    ("en.year.after-word", "I graduated in 2019.", "2019", "in 2000 steps"),
    ("en.year.holiday", "We spent Christmas 2021 at home.", "2021-12-24/2021-12-26", "Christmas is near."),
    ("en.recent", "I have been tired lately.", "2023-04-09/2023-05-09", "the other days were better"),
    ("zh.day.night", "我昨晚没睡好", "2023-05-08", "目前晚上很冷"),
    ("zh.day.near", "我前天去了医院", "2023-05-07", "目前天气很好"),
    ("zh.week.weekend", "我们上周末去爬山", "2023-05-06/2023-05-07", "周末愉快"),
    ("zh.week.weekday", "他上周五来过", "2023-05-05", "上周一直下雨"),
    ("zh.week.whole", "上周我很忙", "2023-05-01/2023-05-07", "网上周边很贵"),
    ("zh.month.relative", "上个月我搬家了", "2023-04", "下月亮升起来了"),
    ("zh.year.relative", "去年夏天很热", "2022-06-01/2022-08-31", "他今年纪大了"),
    ("zh.year.written", "他出生于1998年", "1998", "2000年前的事"),
    ("zh.year.short", "我23年5月入职", "2023-05", "我23年没见他"),
    ("zh.month.day", "我五月七号生日", "2023-05-07", "三月5号楼开放"),
    ("zh.month.alone", "他三月份结婚", "2023-03", "五月天的歌"),
    ("zh.ago", "三天前我去了", "2023-05-06", "三天前后都可以"),
    ("zh.recent.just-now", "我刚才吃饭了", "2023-05-09", "刚刚好"),
    ("zh.recent.counted", "过去三天一直下雨", "2023-05-06/2023-05-09", "这一天很长"),
    ("zh.recent.lately", "我最近很忙", "2023-04-09/2023-05-09", "最近的车站在哪"),
    ("zh.recent.these-days", "近来可好", "2023-04-09/2023-05-09", "他走近来看"),
    ("zh.recent.days", "我前几天感冒了", "2023-05-02/2023-05-09", "考试前几天我很紧张"),
    ("zh.recent.months", "前阵子我搬家了", "2023-03-10/2023-05-09", "考试前段时间他很忙"),
];

/// Returns the rule and the label of each date in a text.
fn dates(text: &str) -> Vec<(&'static str, String)> {
    let zone = TimeZone::UTC;
    let reference = Reference::new(noon(), &zone).unwrap();
    let labelled = |reading: crate::reading::DateReading| {
        let (from, until) = reference.timestamps(&reading.stretch).unwrap();
        (reading.rule, label(from, until, &zone))
    };
    read_dates(&Scan::new(text), &reference).into_iter().map(labelled).collect()
}

#[test]
fn rules_read_examples_and_reject_near_misses() {
    for (rule, text, expected, near_miss) in CASES {
        assert_eq!(dates(text), [(*rule, (*expected).to_owned())], "{text}");
        assert!(dates(near_miss).iter().all(|(read_by, _)| read_by != rule), "{rule} reads {near_miss}");
    }
}

#[test]
fn rules_have_examples_and_unique_ids() {
    let rules: Vec<&str> = english::RULES.iter().chain(chinese::RULES).map(|rule| rule.id).collect();
    let cases: Vec<&str> = CASES.iter().map(|(rule, ..)| *rule).collect();
    assert_eq!(rules, cases);
    for rule in &rules {
        assert!(memory_engine_core::RuleId::new(*rule).is_ok(), "{rule}");
        assert_eq!(rules.iter().filter(|other| *other == rule).count(), 1, "{rule}");
    }
}

static ALL_ENGLISH: LazyLock<RuleIndex> = LazyLock::new(|| RuleIndex::trying_all_rules_everywhere(english::RULES));
static ALL_CHINESE: LazyLock<RuleIndex> = LazyLock::new(|| RuleIndex::trying_all_rules_everywhere(chinese::RULES));

fn noon() -> Timestamp {
    "2023-05-09T12:00:00Z".parse().unwrap()
}

/// Returns an error if a rule reads a date at an index, but has not declared its start.
fn check_starts(text: &str, indexes: impl Fn(&Scan) -> std::ops::Range<usize>) -> Result<(), String> {
    let zone = TimeZone::UTC;
    let reference = Reference::new(noon(), &zone).unwrap();
    let scan = Scan::new(text);
    let languages =
        [(english::RULES, &*ALL_ENGLISH, &*english::INDEX), (chinese::RULES, &*ALL_CHINESE, &*chinese::INDEX)];
    for (rules, all, index) in languages {
        let reader = DateReader::new(&scan, &reference, all);
        for at in indexes(&scan) {
            let tried: Vec<&str> = index.rules_at(&scan, at).map(|rule| rule.id).collect();
            for rule in rules {
                if (rule.read)(&reader, at).is_some() && !tried.contains(&rule.id) {
                    return Err(format!("{} reads a date at character {at} of {text:?}", rule.id));
                }
            }
        }
    }
    Ok(())
}

/// Returns an error if the dates of a text differ from those that are read with all rules at every character.
fn check_readings(text: &str) -> Result<(), String> {
    let zone = TimeZone::UTC;
    let reference = Reference::new(noon(), &zone).unwrap();
    let scan = Scan::new(text);
    let expected = format!("{:?}", read_dates_with(&scan, &reference, &ALL_ENGLISH, &ALL_CHINESE));
    let found = format!("{:?}", read_dates(&scan, &reference));
    if found == expected { Ok(()) } else { Err(format!("{text:?}: {found}, but with all rules {expected}")) }
}

/// Returns the words of the data files, with those of their comments and keys, and words of the rules.
fn vocabulary() -> Vec<&'static str> {
    let files = [
        include_str!("../data/en/dates.toml"),
        include_str!("../data/zh/dates.toml"),
        include_str!("../data/zh/characters.toml"),
        include_str!("../data/holidays.toml"),
        "the last next previous this past half couple few several dozen over weekend yesterday today tomorrow tonight \
         ago before after now of day days week month year Jan Feb Mar Apr May Jun Jul Aug Sep Sept Oct Nov Dec \
         半 几 好几 最近 十 百 的 个 月 年 天 号 上上 2023 23 7 05 1 2023-05-07 7th May March",
    ];
    let words = files.iter().flat_map(|file| file.split(|c: char| !c.is_alphanumeric() && c != '-'));
    words.filter(|word| !word.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn examples_are_read_as_with_all_rules() {
    for text in CASES.iter().flat_map(|(_, text, _, near_miss)| [text, near_miss]) {
        check_readings(text).unwrap();
        check_starts(text, |scan| 0..scan.len()).unwrap();
    }
}

/// Dates with starts that those of [`CASES`] do not have, or have in another place.
const FURTHER_DATES: &[&str] = &[
    "day before yesterday",
    "Friday before 15 July 2023",
    "few days before May 7, 2023",
    "half a year before May 7, 2023",
    "the day before May 7, 2023",
    "half a year ago",
    "last three days",
    "past three days",
    "New Year's Eve 2021",
    "Valentine's Day 2022",
    "Valentines Day 2022",
    "the other day",
    "just now",
    "二〇二三年五月",
    "半年前",
];

/// Replaces the start of the date of each example by every word.
#[test]
fn rules_declare_all_starts() {
    let zone = TimeZone::UTC;
    let reference = Reference::new(noon(), &zone).unwrap();
    let words = vocabulary();
    for text in CASES.iter().map(|(_, text, ..)| text).chain(FURTHER_DATES) {
        check_starts(text, |scan| 0..scan.len()).unwrap();
        let scan = Scan::new(text);
        let date = read_dates(&scan, &reference).remove(0);
        let first_word = scan.letters(date.begin).map_or(1, |(_, end)| end - date.begin);
        let lengths = if first_word > 1 { first_word..=first_word } else { 1..=3 };
        for length in lengths {
            let rest: String = text.chars().skip(date.begin + length).collect();
            for word in &words {
                check_starts(&format!("{word}{rest}"), |_| 0..1).unwrap();
            }
        }
    }
}

proptest! {
    #[test]
    fn random_texts_are_read_as_with_all_rules(
        pieces in vec(prop_oneof![
            4 => select(vocabulary()),
            3 => select(CASES.iter().flat_map(|(_, text, _, near_miss)| [*text, *near_miss]).collect::<Vec<_>>()),
            2 => select(vec!["the", "a", "two", "days", "before", "after", "last", "May", "2023", "上", "周", "前", "一"]),
            1 => select(vec!["é", "zorb", "don't", "ＭＡＹ", "，", "-", ".", "_", "週", "ok"]),
        ], 1..8),
        separator in select(vec!["", " ", "\u{3000}"]),
    ) {
        let text = pieces.join(separator);
        prop_assert_eq!(check_readings(&text), Ok(()));
        prop_assert_eq!(check_starts(&text, |scan| 0..scan.len()), Ok(()));
    }
}
