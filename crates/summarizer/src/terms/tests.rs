use super::*;

#[test]
fn phrases_stand_between_words_that_say_nothing() {
    assert_eq!(
        key_phrases("I have been learning Italian cooking with my friends", 2),
        ["learning italian cooking", "friends"]
    );
    assert_eq!(key_phrases("我最近在准备考研英语，考研真的好难", 2)[0], "准备考研英语");
    assert!(key_phrases("嗯嗯 ok, I think so", 3).is_empty());
}

#[test]
fn terms_of_the_same_word_are_the_same() {
    assert_eq!(terms("hiking hikes hiked"), ["hik", "hik", "hik"]);
    assert_eq!(terms("我对海鲜过敏"), ["海鲜", "鲜过", "过敏"]);
}
