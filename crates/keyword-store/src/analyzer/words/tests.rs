use proptest::prelude::*;

use super::*;

fn texts(text: &str) -> Vec<&str> {
    words(text).iter().map(|word| word.text).collect()
}

#[test]
fn words_keep_their_order_and_spelling() {
    assert_eq!(texts("Where's Krueger's 纹身 in the Café?"), ["Krueger", "纹身", "Café"]);
    let cut_by_dictionary: &[&str] = &["喜欢", "北京", "秋天"];
    let cut_at_stop_words: &[&str] = &["喜欢北京", "秋天"];
    let expected = if cfg!(feature = "chinese") { cut_by_dictionary } else { cut_at_stop_words };
    assert_eq!(texts("我喜欢北京的秋天"), expected);
    assert_eq!(texts("昨日ラーメンを食べた"), ["昨日", "ラーメンを", "食", "べた"]);
    assert!(texts("是什么吗? the of …").is_empty());
}

proptest! {
    #[test]
    fn every_word_is_at_its_offset(text in "\\PC{0,40}") {
        let mut end = 0;
        for word in words(&text) {
            prop_assert!(word.start >= end && !word.text.is_empty());
            end = word.end();
            prop_assert_eq!(&text[word.start..end], word.text);
        }
    }
}
