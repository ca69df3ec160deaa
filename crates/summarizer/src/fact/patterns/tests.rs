use super::*;

#[test]
fn every_pattern_compiles_by_itself() {
    let patterns = FactPatterns::built_in().unwrap();
    assert!(patterns.list.iter().all(|pattern| pattern.regex().is_some()));
}

#[test]
fn each_pattern_is_in_the_set_of_its_language() {
    let patterns = FactPatterns::built_in().unwrap();
    let LanguageSets(sets) = LanguageSets::new(&patterns.list).unwrap();
    let mut indexes: Vec<usize> = sets.iter().flat_map(|set| set.indexes.iter().copied()).collect();
    indexes.sort_unstable();
    assert!(indexes.into_iter().eq(0..patterns.list.len()));
}

#[test]
fn patterns_of_both_languages_match_a_mixed_text_in_the_order_of_their_files() {
    let patterns = FactPatterns::built_in().unwrap();
    let text = "我住在杭州, and i live in hangzhou";
    let found: Vec<&str> = patterns.matching(text).map(|pattern| pattern.text.as_str()).collect();
    let by_itself = patterns.list.iter().filter(|pattern| pattern.regex().unwrap().is_match(text));
    assert_eq!(found, by_itself.map(|pattern| pattern.text.as_str()).collect::<Vec<_>>());
    for language in [Language::English, Language::Chinese] {
        assert!(patterns.matching(text).any(|pattern| pattern.language == language), "{language:?}");
    }
}
