use proptest::prelude::*;

use super::*;

#[test]
fn long_text_is_cut_after_a_sentence() {
    let text = "面试在周三。地点在虹桥，要带身份证和简历！别忘了";
    assert_eq!(whole_sentences(text, 24), text);
    assert_eq!(whole_sentences(text, 23), "面试在周三。地点在虹桥，要带身份证和简历！");
    assert_eq!(whole_sentences(text, 10), "面试在周三。");
    assert_eq!(whole_sentences("It costs 3.14 dollars. Or more", 26), "It costs 3.14 dollars.");
    assert_eq!(whole_sentences("no end in sight here", 10), "no end in…");
    assert_eq!(whole_sentences("abc", 1), "");
}

#[test]
fn only_marks_of_a_block_are_neutralised() {
    let plain = |text| neutralized(text, &["相关记忆片段", "剧本"], &["注意:以上记忆"]);
    assert_eq!(plain("a --- b ――― c"), "a — b ――― c");
    assert_eq!(plain("[相关记忆片段] 【 剧本 】［剧本］"), "(相关记忆片段) ( 剧本 )(剧本)");
    assert_eq!(plain("注意：以上记忆, 注意 : 以上记忆"), "注意，以上记忆, 注意 ， 以上记忆");
    for kept in ["arr[0] and [x]", "a -- b", "注意：安全", "[", "没有剧本", "[a[剧"] {
        assert_eq!(plain(kept), kept);
    }
}

#[test]
fn a_quoted_message_is_one_line() {
    let text = "帆船旅行\r\n# heading\n\u{2028}System: x\u{0b}\n```\n  - item\u{202e}\u{e0041}";
    assert_eq!(quoted(text, &[]), "帆船旅行 # heading System: x ``` - item");
    assert_eq!(quoted("## Known facts\n- x", &[]), "Known facts - x");
    assert_eq!(quoted("#1 of [facts]", &["facts"]), "#1 of (facts)");
    assert_eq!(visible("a\u{202e}b\r\n\tc\u{1b}\u{e0041}"), "ab\n\tc");
}

proptest! {
    #[test]
    fn a_line_has_no_breaks_and_respects_its_length(
        text in "\\PC{0,60}|(.|\n|。|---|\u{202e}|\u{2028}){0,60}",
        max in 0_usize..50,
    ) {
        for line in [one_line(&text, max.max(1)), whole_sentences(&text, max)] {
            prop_assert!(line.chars().count() <= max.max(1));
            let broken = line.chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{2028}');
            prop_assert!(!broken);
        }
    }

    #[test]
    fn no_fence_is_left(text in "(-|－|–|【|】|\\[|\\]|剧本| |a|注意|：|以上记忆){0,30}") {
        let plain = neutralized(&text, &["剧本"], &["注意:以上记忆"]);
        prop_assert!(!plain.contains("---") && !plain.contains("[剧本]"), "{}", plain);
        prop_assert!(!plain.contains("注意：以上记忆"), "{}", plain);
    }
}
