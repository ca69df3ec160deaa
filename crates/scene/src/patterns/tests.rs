use super::*;

#[test]
fn built_in_patterns_compile() {
    for pattern in built_in() {
        PatternSet::compile(std::slice::from_ref(pattern)).unwrap();
    }
    PatternSet::compile(built_in()).unwrap();
}
