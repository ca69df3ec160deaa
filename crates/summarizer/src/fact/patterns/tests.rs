use super::*;

#[test]
fn every_pattern_compiles_by_itself() {
    let patterns = FactPatterns::built_in().unwrap();
    assert!(patterns.list.iter().all(|pattern| pattern.regex().is_some()));
}
