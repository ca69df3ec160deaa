use super::*;

#[test]
fn masking_keeps_every_byte_in_its_place() {
    for text in ["他说“我对花生过敏”，笑了", "*I am a pirate* hello", "> quoted\nmine", "translate: I am Sam", "plain"]
    {
        assert_eq!(masked(text).len(), text.len());
    }
    assert!(!masked("他说“我对花生过敏”").contains("花生"));
    assert!(masked("叫我“小雨”").contains("小雨"));
    assert!(masked("**I** love tea").contains("love tea"));
}

#[test]
fn scripts_are_folded_and_case_is_kept() {
    assert_eq!(readied("我對「Sam」過敏，I’m"), "我对Sam过敏，I'm");
}
