use super::*;

#[test]
fn the_language_is_that_of_most_words() {
    for (text, language) in [
        ("我用 Rust 写代码", Language::Chinese),
        ("I'm learning 中文", Language::English),
        ("今天 nice", Language::Chinese),
        ("", Language::English),
        ("123 !", Language::English),
        ("👍 好", Language::Chinese),
    ] {
        assert_eq!(Language::of(text), language, "{text}");
    }
}

#[test]
fn names_and_codes_are_read() {
    for language in [Language::Chinese, Language::English] {
        assert_eq!(language.to_string().parse::<Language>().unwrap(), language);
        assert_eq!(serde_json::to_value(language).unwrap(), language.as_str());
    }
    assert_eq!("zh".parse::<Language>().unwrap(), Language::Chinese);
    assert_eq!(serde_json::from_str::<Language>("\"en\"").unwrap(), Language::English);
    assert!("German".parse::<Language>().unwrap_err().to_string().contains("write zh or en"));
}
