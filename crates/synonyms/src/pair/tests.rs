use super::*;

#[test]
fn a_pair_is_the_same_in_every_order_and_spelling_also_from_a_file() {
    let read = |text: &str| toml::from_str::<WordPair>(text);
    assert_eq!(read("first = '猫'\nsecond = 'ＣＡＴ'").unwrap(), WordPair::new("cat", "猫").unwrap());
    assert!(read("first = 'cat'\nsecond = 'CAT'").is_err());
    assert_eq!(WordPair::new("cat", " "), None);
}
