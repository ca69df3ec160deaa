use super::*;

#[test]
fn content_words_are_not_stop_words() {
    for word in ["the", "arent", "youve"] {
        assert!(is_english(word), "{word}");
    }
    assert!(!is_english("allergic"));
    assert!(is_chinese("什么") && !is_chinese("海鲜"));
}

#[test]
fn the_lists_are_normalised() {
    let is_normalised = |word: &String| memory_engine_core::text::normalize(word) == *word || !word.is_ascii();
    assert!(STOP_WORDS.english.iter().chain(&STOP_WORDS.chinese).all(is_normalised));
    assert!(STOP_WORDS.chinese.iter().all(|word| word.chars().count() <= 3));
}
