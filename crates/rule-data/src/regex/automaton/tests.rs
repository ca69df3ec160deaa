use super::*;

const EXPRESSIONS: [&str; 4] = ["lives in", r"(?-u:\b)cat(?-u:\b)", "住在", "[0-9]+岁"];

fn automaton(expressions: &[&str]) -> ForwardAutomaton {
    ForwardAutomaton::new(expressions, false, 1 << 20, 1 << 20).unwrap()
}

#[test]
fn all_matching_expressions_are_found_in_their_order() {
    let set = automaton(&EXPRESSIONS);
    assert_eq!(set.matches("她30岁，住在杭州, and her cat lives in a box"), [0, 1, 2, 3]);
    assert_eq!(set.matches("concatenation"), [] as [usize; 0]);
    assert!(set.is_match("我住在北京"));
    assert!(!set.is_match("我在北京"));
}

#[test]
fn a_single_expression_matches_anywhere_in_the_text() {
    let set = automaton(&["(?:tomorrow|明天) [a-z]+"]);
    assert!(set.is_match("see you tomorrow then"));
    assert!(set.is_match("我们 明天 go"));
    assert!(!set.is_match("see you tomorrow"));
}

#[test]
fn unicode_word_boundaries_are_searched_without_the_automaton() {
    let set = automaton(&[r"\bé", r"\bcat\b"]);
    assert_eq!(set.matches("un été, a cat"), [0, 1]);
    assert!(set.is_match("été"));
    assert!(!set.is_match("aé"));
}

#[test]
fn a_full_automaton_is_built_again() {
    let expressions: Vec<String> = (0..200).map(|n| format!("w{n}[a-z]*(?:x|y){n}")).collect();
    let set = ForwardAutomaton::new(&expressions, false, 1 << 20, 4 << 10).unwrap();
    assert_eq!(set.cache_bytes(), 0);
    for n in 0..200 {
        assert!(set.matches(&format!("some words w{n}abcx{n} end")).contains(&n), "{n}");
    }
    assert!((1..1 << 20).contains(&set.cache_bytes()));
}

#[test]
fn a_set_of_no_expressions_matches_nothing() {
    assert!(automaton(&[]).matches("a text").is_empty());
}

#[test]
fn invalid_and_too_large_expressions_are_errors() {
    assert!(ForwardAutomaton::new(&["(a"], false, 1 << 20, 1 << 20).unwrap_err().contains("unclosed group"));
    assert!(
        ForwardAutomaton::new(&["[0-9a-f]{1000}"], false, 1 << 10, 1 << 20).unwrap_err().contains("exceed 1024 bytes")
    );
}
