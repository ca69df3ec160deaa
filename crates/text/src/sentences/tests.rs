use proptest::prelude::*;

use super::*;

fn split(text: &str) -> Vec<&str> {
    sentences(text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn closing_quotes_and_brackets_belong_to_the_sentence() {
    assert_eq!(split("你好！！我叫小雨（真的。）再见……好"), ["你好！！", "我叫小雨（真的。）", "再见……", "好"]);
    assert_eq!(split("“走吧。”她说。"), ["“走吧。”", "她说。"]);
    assert_eq!(split("一；二"), ["一；", "二"]);
}

#[test]
fn dots_of_abbreviations_and_numbers_end_no_sentence() {
    for whole in ["Mr. Li met J. Smith at 3.14 p.m. sharp", "See example.com/a?b=c for v1.2.", "e.g. this one"] {
        let expected = if whole.contains("p.m.") { 2 } else { 1 };
        assert!(split(whole).len() <= expected, "{:?}", split(whole));
    }
    assert_eq!(split("I live with my mom and I. Then we left."), ["I live with my mom and I.", "Then we left."]);
    assert_eq!(split("1. first thing\n2. second"), ["1. first thing", "2. second"]);
    assert_eq!(split("OK.好的"), ["OK.", "好的"]);
}

#[test]
fn a_fenced_code_block_is_one_sentence() {
    assert_eq!(
        split("Look.\n```rs\nlet a = 1;\n\nb.c();\n```\nDone!"),
        ["Look.", "```rs\nlet a = 1;\n\nb.c();\n```", "Done!"]
    );
    assert_eq!(split("a\n```\nx. y. z"), ["a", "```\nx. y. z"]);
    assert_eq!(split("use ``` inline. yes"), ["use ``` inline.", "yes"]);
}

#[test]
fn the_first_mark_but_a_full_stop_makes_a_question() {
    let is_question = |text| SentenceRules::MESSAGE.split(text).next().is_some_and(|sentence| sentence.is_question());
    assert!(is_question("Will it open at 9 a.m.?") && is_question("what?!"));
    assert!(!is_question("no!?") && !is_question("at 9 a.m."));
}

proptest! {
    #[test]
    fn every_character_is_in_one_sentence(text in "(\\PC|[。！？；….!?\n ]|```|\\. |Dr\\. ){0,80}") {
        let mut at = 0;
        for range in sentences(&text) {
            prop_assert!(range.start >= at && range.start < range.end);
            prop_assert!(text[at..range.start].trim().is_empty(), "{:?}", &text[at..range.start]);
            prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
            at = range.end;
        }
        prop_assert!(text[at..].trim().is_empty());
    }
}
