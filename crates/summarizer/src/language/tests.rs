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
