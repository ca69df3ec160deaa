use super::*;
use crate::text::normalize;

#[test]
fn traditional_characters_are_converted() {
    assert_eq!(normalize("臺灣的後天"), "台湾的后天");
}

#[test]
fn the_longest_phrase_is_converted() {
    for (text, expected) in [
        ("乾坤大挪移", "乾坤大挪移"),
        ("餅乾和乾杯", "饼干和干杯"),
        ("明瞭一目瞭然", "明了一目了然"),
        ("瞭望", "瞭望"),
        ("龍鍾", "龙钟"),
        ("乾隆皇后喝乾了", "乾隆皇后喝干了"),
        ("㑮", "𫝈"),
        ("", ""),
    ] {
        assert_eq!(CONVERTER.convert(text), expected, "{text}");
    }
}

#[test]
fn text_that_skips_the_dictionaries_would_not_have_changed() {
    let converter = &*CONVERTER;
    let is_traditional = |text: &str| text.chars().any(|c| converter.may_be_traditional(c));
    let phrases =
        ["我对海鲜过敏", "乾坤大挪移", "皇后的后天", "于是着手干了", "著名的云里雾里", "台湾", "吃面条和面粉"];
    for text in phrases.into_iter().filter(|text| !is_traditional(text)) {
        assert_eq!(converter.convert(text), text);
    }
    assert!("臺灣麵條".chars().all(|c| converter.may_be_traditional(c)) && !is_traditional("台湾面条"));
}

#[test]
fn every_line_of_the_dictionaries_is_read() {
    for (dictionary, expected) in [(CHARACTERS, 4113), (PHRASES, 277)] {
        let lines = dictionary.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!((entries(dictionary).count(), lines), (expected, expected));
    }
    for (key, value) in entries(CHARACTERS) {
        assert_eq!((key.chars().count(), value.chars().count()), (1, 1), "{key}");
    }
    for (key, value) in entries(PHRASES) {
        assert_eq!(key.chars().count(), value.chars().count(), "{key}");
        assert_eq!(CONVERTER.convert(key), value);
    }
}
