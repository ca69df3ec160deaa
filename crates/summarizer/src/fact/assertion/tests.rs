use super::*;

#[test]
fn masking_keeps_byte_positions() {
    for text in ["他说“我对花生过敏”，笑了", "*I am a pirate* hello", "> quoted\nmine", "translate: I am Sam", "plain"]
    {
        assert_eq!(mask(text).len(), text.len());
    }
    assert!(!mask("他说“我对花生过敏”").contains("花生"));
    assert!(mask("叫我“小雨”").contains("小雨"));
    assert!(mask("**I** love tea").contains("love tea"));
}

#[test]
fn sentences_are_simplified_and_keep_their_case() {
    assert_eq!(normalise_sentence("我對「Sam」過敏，I’m"), "我对Sam过敏，I'm");
}
