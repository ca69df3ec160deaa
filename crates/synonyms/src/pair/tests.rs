use super::*;

#[test]
fn pairs_ignore_order_and_spelling() {
    let read = |text: &str| toml::from_str::<WordPair>(text);
    assert_eq!(read("first = '猫'\nsecond = 'ＣＡＴ'").unwrap(), WordPair::new("cat", "猫").unwrap());
    assert!(read("first = 'cat'\nsecond = 'CAT'").is_err());
    assert_eq!(WordPair::new("cat", " "), None);
}
