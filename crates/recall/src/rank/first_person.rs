//! Detects queries about the user, and texts in the first person, by first-person words.

use std::sync::LazyLock;

use memory_engine_core::{
    Phrases,
    phrases::{fold, stands_alone},
    text::is_han,
};
use memory_engine_text::Words;
use serde::Deserialize;

memory_engine_text::data!(DATA: FirstPersonWords = "first_person.toml");

#[derive(Debug, Deserialize)]
struct FirstPersonWords {
    words: Words,
    request_phrases: Words,
    owned: Words,
    speaker: Words,
}

static WORDS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(DATA.words.iter()));
/// Sorted by length, longest first, so that a phrase is removed before its prefixes.
static REQUEST_PHRASES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut phrases: Vec<String> = DATA.request_phrases.iter().map(fold).collect();
    phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    phrases
});

/// Returns true if a query speaks of the user: "what is my sister's job". "Tell me a joke" only asks for something.
pub(super) fn speaks_of_user(query: &str) -> bool {
    let mut folded = fold(query).replace('’', "'");
    if WORDS.find_folded(&folded).is_none() {
        return false;
    }
    for phrase in REQUEST_PHRASES.iter() {
        while let Some(start) = find_at_word_boundary(&folded, phrase) {
            folded.replace_range(start..start + phrase.len(), " ");
        }
    }
    WORDS.find_folded(&folded).is_some()
}

/// Returns true if a text is said in the first person.
pub(super) fn is_in_first_person(text: &str) -> bool {
    let is_speaker = |word: &str| DATA.speaker.iter().any(|speaker| word.eq_ignore_ascii_case(speaker));
    let is_chinese_speaker = |speaker: &str| speaker.starts_with(is_han) && text.contains(speaker);
    DATA.speaker.iter().any(is_chinese_speaker) || text.split(|c: char| !c.is_ascii_alphabetic()).any(is_speaker)
}

/// Returns the start of the first match of a request phrase at word boundaries. In "帮我妈选礼物" the user is part of
/// "我妈", so this is no match.
fn find_at_word_boundary(folded: &str, phrase: &str) -> Option<usize> {
    let has_owned_word =
        |end: usize| phrase.ends_with('我') && DATA.owned.iter().any(|word| folded[end..].starts_with(word));
    let mut matches = folded.match_indices(phrase).map(|(start, _)| (start, start + phrase.len()));
    matches.find(|(start, end)| stands_alone(folded, *start, *end) && !has_owned_word(*end)).map(|(start, _)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_do_not_speak_of_the_user() {
        for query in [
            "Tell me a joke",
            "Explain tax brackets to me",
            "How do I boil an egg?",
            "Can you give me a recipe for ramen?",
            "给我讲个笑话",
            "帮我写一首诗",
            "I’d like to know the boiling point of lead",
            "告诉我光速是多少",
            "What is the capital of Peru?",
        ] {
            assert!(!speaks_of_user(query), "{query}");
        }
    }

    #[test]
    fn texts_in_the_first_person_are_recognised() {
        for text in ["My knee hurts", "Yes, I'd say so", "昨天我没去", "咱们走吧"] {
            assert!(is_in_first_person(text), "{text}");
        }
        for text in ["Mission done in Miami", "She owns it", "她昨天没去", ""] {
            assert!(!is_in_first_person(text), "{text}");
        }
    }

    #[test]
    fn queries_about_the_user_are_recognised() {
        for query in [
            "Tell me what my sister does",
            "Where do I live?",
            "How do I usually take my coffee?",
            "Can I eat peanuts?",
            "Can we bring our dog?",
            "给我讲讲我妹妹的工作",
            "我住在哪里？",
            "帮我想想我对什么过敏",
            "给我妹妹买什么礼物好",
            "帮我妈选礼物",
        ] {
            assert!(speaks_of_user(query), "{query}");
        }
    }
}
