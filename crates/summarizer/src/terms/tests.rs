use super::*;

#[test]
fn key_phrases_are_delimited_by_stop_words() {
    assert_eq!(
        key_phrases("I have been learning Italian cooking with my friends", 2),
        ["learning italian cooking", "friends"]
    );
    assert_eq!(key_phrases("我最近在准备考研英语，考研真的好难", 2)[0], "准备考研英语");
    assert!(key_phrases("嗯嗯 ok, I think so", 3).is_empty());
}

#[test]
fn forms_of_a_word_have_the_same_term() {
    assert_eq!(terms("hiking hikes hiked"), ["hik", "hik", "hik"]);
    assert_eq!(terms("我对海鲜过敏"), ["海鲜", "鲜过", "过敏"]);
}
