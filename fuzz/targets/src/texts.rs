//! Targets that read the text of a message.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use memory_engine_context::{IncomingMessage, InjectionRules};
use memory_engine_core::{Kind, ManualClock, Record, Role, Scope, Timestamp};
use memory_engine_graph::RuleExtractor;
use memory_engine_intake::{IncomingWords, model_words, without_injected};
use memory_engine_keyword_store::{Analyzer, TextAnalyzer};
use memory_engine_summarizer::{ExtractiveSummarizer, RuleFacts, RuleMetadata, SummaryRequest, sentences};

/// Tokens of the languages of the rules.
pub(crate) const TOKENS: &[&str] = &[
    "我",
    "我叫",
    "我对",
    "过敏",
    "我不",
    "喜欢",
    "住在",
    "搬到",
    "不再",
    "如果",
    "「",
    "」",
    "“",
    "”",
    "吗？",
    "了。",
    "和",
    "3.14",
    "C++",
    "v1.2.3",
    "2026-02-30",
    "I ",
    "I'm ",
    "allergic to ",
    "my ",
    "'s ",
    "not ",
    "no longer ",
    "if ",
    "live in ",
    "moved to ",
    "\"",
    "(",
    ")",
    "*",
    "? ",
    ". ",
    "\n",
    "<memory>",
    "</memory>",
    "```",
    "OOC:",
    "https://",
    "@",
    "_",
    "-",
];

/// Tokens of dates.
pub(crate) const DATE_TOKENS: &[&str] = &[
    "昨天",
    "下周",
    "上个月",
    "三天前",
    "去年",
    "年",
    "月",
    "日",
    "号",
    "点",
    "半",
    "星期",
    "周末",
    "两",
    "十",
    "百",
    "千",
    "万",
    "亿",
    "零",
    "初",
    "底",
    "前",
    "后",
    "大",
    "春节",
    "last ",
    "next ",
    "this ",
    "ago",
    " days",
    "weeks",
    "months",
    "years",
    "Monday",
    "March",
    "noon",
    "pm",
    "st",
    "th",
    "-",
    "/",
    ":",
    ".",
    "T",
    "Z",
    "+08:00",
    "9999",
    "0000",
    "99999999999999999999",
    "between ",
    " and ",
    "until ",
    "since ",
    "the day before ",
    "fortnight",
    "Christmas",
];

/// 2026-02-25, 06:13 UTC.
const NOW: Timestamp = Timestamp::from_micros(1_772_000_000_123_456);

/// Analyzes a text as a document and as a query.
pub(crate) fn analyzer(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let terms = TextAnalyzer.document(&text);
    let clauses = TextAnalyzer.query(&text);
    assert!(clauses.iter().all(|clause| clause.weight.is_finite()));
    assert_eq!(terms, TextAnalyzer.document(&text));
}

/// Finds dates in a text. Its length selects the zone, and the reference: now, or an end of the range of timestamps.
pub(crate) fn dates(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let references = [NOW, Timestamp::from_micros(i64::MAX), NOW, Timestamp::from_micros(i64::MIN)];
    let reference = references[input.len() % references.len()];
    let zone = if input.len() % 8 < 4 { TimeZone::UTC } else { TimeZone::fixed(jiff::tz::offset(8)) };
    for window in memory_engine_temporal::windows(&text, reference, &zone) {
        window.contains(reference);
        window.label(&zone);
    }
    memory_engine_temporal::anchored(&text, reference, &zone);
    let _ = Timestamp::parse_in(&text, &zone);
}

/// Runs every rule that reads the text of a turn.
pub(crate) fn facts(input: &[u8]) {
    static RULES: LazyLock<RuleFacts> = LazyLock::new(|| RuleFacts::built_in().unwrap());
    static METADATA: LazyLock<RuleMetadata> = LazyLock::new(RuleMetadata::default);
    static INJECTION: LazyLock<InjectionRules> = LazyLock::new(InjectionRules::default);
    let text = String::from_utf8_lossy(input);
    let turns = turns(&text);
    let facts = RULES.facts(&turns);
    let mut described = turns[0].clone();
    METADATA.describe(&turns[0].text).fill(&mut described);
    // Only turns that can be stored are read by rules.
    if turns.iter().all(|turn| turn.validate().is_ok()) {
        for record in facts.iter().map(|fact| fact.to_record(&turns[0].scope, NOW)) {
            assert!(record.validate().is_ok(), "a fact that cannot be stored: {record:?}");
        }
        assert!(described.validate().is_ok(), "metadata that cannot be stored: {described:?}");
    }
    let _ = RuleExtractor::default().read(&text, &["Lin".into(), "小王".into()]);
    let _ = ExtractiveSummarizer::default().summary(&turns, &SummaryRequest::default());
    for range in sentences(&text) {
        assert!(text.get(range).is_some(), "a sentence that is not a part of the text");
    }
    let _ = without_injected(&text);
    assert!(model_words(&text).len() <= text.len());
    if let IncomingWords::Own(words) = IncomingWords::of(&text) {
        assert!(!words.trim().is_empty());
    }
    INJECTION.decide(&IncomingMessage { round: 2, scene: "daily", text: &text });
}

/// Returns a dialogue: each line of the text is a turn, up to six.
pub(crate) fn turns(text: &str) -> Vec<Record> {
    let scope = Scope::user("lin").unwrap().with_session("s").unwrap();
    let clock = ManualClock::new(NOW);
    let lines = text.splitn(6, '\n').enumerate();
    let turn = |(number, line): (usize, &str)| {
        let mut turn = Record::new(scope.clone(), Kind::TURN, line, &clock);
        turn.role = Some(if number % 2 == 0 { Role::USER } else { Role::ASSISTANT });
        turn
    };
    lines.map(turn).collect()
}
