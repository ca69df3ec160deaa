use super::*;

#[test]
fn every_pattern_compiles() {
    FactPatterns::built_in().unwrap().new_index().unwrap().check().unwrap();
}

/// An expression without literals is searched in every sentence.
#[test]
fn few_patterns_are_candidates_for_every_sentence() {
    let patterns = FactPatterns::built_in().unwrap();
    let always: Vec<&str> = patterns.candidates("").map(|candidate| candidate.pattern.text.as_str()).collect();
    assert!(always.len() <= 12, "{always:#?}");
}

#[test]
fn patterns_of_both_languages_match_a_mixed_text_in_the_order_of_their_files() {
    let patterns = FactPatterns::built_in().unwrap();
    let text = "我住在杭州, and i live in hangzhou";
    let matching = patterns.candidates(text).filter(|candidate| candidate.captures_iter(text).next().is_some());
    let found: Vec<&str> = matching.map(|candidate| candidate.pattern.text.as_str()).collect();
    let matches = |pattern: &&FactPattern| RegexOptions::ignoring_case().compile(&pattern.text).unwrap().is_match(text);
    let expected: Vec<&str> = patterns.list.iter().filter(matches).map(|pattern| pattern.text.as_str()).collect();
    assert_eq!(found, expected);
    for language in [Language::English, Language::Chinese] {
        assert!(patterns.candidates(text).any(|candidate| candidate.pattern.language == language), "{language:?}");
    }
}
