#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;

/// Number of words of the dictionary of jieba-rs 0.11.
const WORDS: usize = 349_045;

fn words(text: &str) -> Vec<&str> {
    JIEBA.cut(text, true).into_iter().map(|token| token.word).collect()
}

#[test]
fn every_word_of_the_dictionary_is_read() {
    assert!(format!("{:?}", *JIEBA).contains(&format!("records_len: {WORDS}, total_freq: 60101964")), "{:?}", *JIEBA);
    for word in ["1号店", "一", "一了百了", "北京大学", "中华人民共和国", "龟甲"] {
        assert!(JIEBA.has_word(word), "{word}");
    }
    assert!(!JIEBA.has_word("北京大学的"));
}

#[test]
fn text_is_cut_as_by_jieba() {
    for (text, expected) in [
        ("我们中出了一个叛徒", "我们 中出 了 一个 叛徒"),
        ("南京市长江大桥", "南京市 长江大桥"),
        ("我来到北京清华大学", "我 来到 北京 清华大学"),
        ("他来到了网易杭研大厦", "他 来到 了 网易 杭研 大厦"),
        ("小明硕士毕业于中国科学院计算所", "小明 硕士 毕业 于 中国科学院 计算所"),
    ] {
        assert_eq!(words(text).join(" "), expected);
    }
}

#[test]
fn a_file_that_is_cut_or_too_long_is_refused() {
    assert!(packed::read(b"MEDICT01\x01\0\0\0\x00\x05\x00\x4e").is_some());
    for file in [&b"MEDICT02\0\0\0\0"[..], b"MEDICT01\x01\0\0\0", b"MEDICT01\x01\0\0\0\x00\x05\x00"] {
        assert!(packed::read(file).is_none(), "{file:?}");
    }
    assert!(packed::read(b"MEDICT01\x00\0\0\0\x00").is_none());
}
