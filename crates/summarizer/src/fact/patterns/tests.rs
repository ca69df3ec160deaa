use super::*;

#[test]
fn every_pattern_compiles_by_itself() {
    let patterns = FactPatterns::built_in().unwrap();
    assert!(patterns.list.iter().all(|pattern| pattern.regex().is_some()));
}

#[test]
fn the_set_of_all_patterns_compiles() {
    let patterns = FactPatterns::built_in().unwrap();
    assert_eq!(pattern_set(&patterns.list).unwrap().len(), patterns.list.len());
}
