use super::*;

fn literals(expression: &str) -> Vec<Vec<String>> {
    let groups = required_literals(expression).unwrap();
    groups.into_iter().map(|group| group.into_iter().collect()).collect()
}

#[test]
fn every_group_of_literals_is_required() {
    let cases: &[(&str, &[&[&str]])] = &[
        ("i live in [a-z]+", &[&["i live in "]]),
        (r"\bI (?:love|like) (?P<v>.+) now", &[&[" now"], &["like", "love"], &["i "]]),
        ("我(?:住|搬)?在", &[&["我"], &["在"]]),
        ("[姐妹][^a]", &[&["妹", "姐"]]),
        ("(?:sister)+ of", &[&["sister"], &[" of"]]),
        ("a|sister", &[]),
        ("(?:sister)*", &[]),
        ("[a-z]x", &[]),
        ("(?i)Sister", &[]),
        ("é été", &[]),
        ("", &[]),
    ];
    for (expression, expected) in cases {
        assert_eq!(literals(expression), *expected, "{expression}");
    }
}

#[test]
fn invalid_expressions_are_errors() {
    assert!(required_literals("(a").unwrap_err().contains("unclosed group"));
}

#[test]
fn lower_case_covers_all_characters_that_match_ascii_letters() {
    assert_eq!(lower_case("SIſTER \u{212a}im 姐"), "sister kim 姐");
}
