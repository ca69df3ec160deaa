use proptest::prelude::*;

use super::*;

#[test]
fn one_plain_line_is_the_query() {
    for line in [
        "结合最近对话：用户昨晚失眠，询问今天状态有何变化",
        "Did Lin's interview on Wednesday go well?",
        "Lin 的面试 14:00 结果如何",
        "C++ 项目的进展",
    ] {
        assert_eq!(parse_rewrite(&format!("  {line}\n")).as_deref(), Some(line));
    }
}

#[test]
fn anything_else_is_discarded() {
    let long = "很".repeat(401);
    for reply in [
        "",
        " \n ",
        "one\ntwo",
        "one\r\n\r\ntwo",
        "\"quoted\"",
        "“引用”",
        "「引用」",
        "# heading",
        "- item",
        "1. item",
        "**bold** query",
        "`code`",
        "```\nquery\n```",
        "{\"query\": \"x\"}",
        "Rewritten query: what happened",
        "改写后的查询：用户昨晚失眠",
        "Here is the query you asked for",
        "好的，这是改写后的问题",
        "<think>hm</think> query",
        "see [this](http://x)",
        "……",
        &long,
    ] {
        assert_eq!(parse_rewrite(reply), None, "{reply}");
    }
}

#[test]
fn the_newest_dialogue_is_kept() {
    let recent: Vec<(String, String)> = (0..100).map(|n| ("user".into(), format!("message number {n}"))).collect();
    let recent: Vec<(&str, &str)> = recent.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
    let query = contextual_query(&recent, "那个呢？", MAX_CONTEXT_CHARS);
    assert!(query.chars().count() <= MAX_CONTEXT_CHARS && query.chars().count() > 1150);
    assert!(query.ends_with("message number 99\nUser question: 那个呢？") && !query.contains("number 1\n"));
    let long = "长".repeat(2000) + "尾";
    let query = contextual_query(&[("user", &long)], "然后？", 100);
    assert!(query.starts_with("user: …长") && query.contains("尾\nUser question: 然后？"), "{query}");
    assert_eq!(query.chars().count(), 100);
    assert_eq!(contextual_query(&[("user", " \n ")], "a\nb", 100), "User question: a b");
}

#[test]
fn the_request_is_json_with_the_names_of_the_contract() {
    let request = RewriteRequest {
        user_name: "小雨".into(),
        char_name: "Kai".into(),
        user_question: "那个\"事情\"？".into(),
        recent_conversation: "user: a\nassistant: b".into(),
    };
    let json = request.to_json().unwrap();
    let expected = concat!(
        r#"{"user_name":"小雨","char_name":"Kai","user_question":"那个\"事情\"？","#,
        r#""recent_conversation":"user: a\nassistant: b"}"#,
    );
    assert_eq!(json, expected);
}

proptest! {
    #[test]
    fn a_query_never_exceeds_its_length(
        recent in proptest::collection::vec(("\\PC{0,8}", "(\\PC|\n){0,80}"), 0..8),
        question in "(\\PC|\n){0,80}",
        max in 0_usize..200,
    ) {
        let recent: Vec<(&str, &str)> = recent.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
        let query = contextual_query(&recent, &question, max);
        prop_assert!(query.chars().count() <= max);
        prop_assert!(max < 15 || query.contains("User question: "));
    }

    #[test]
    fn a_parsed_reply_is_one_line(reply in "(\\PC|\n|\r|\t){0,40}") {
        if let Some(line) = parse_rewrite(&reply) {
            prop_assert_eq!(line.lines().count(), 1);
            prop_assert_eq!(line.trim(), line.as_str());
        }
    }
}
