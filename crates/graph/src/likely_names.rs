//! Finds words that are likely to be names, without a list of full names.

use std::collections::BTreeSet;

use memory_engine_core::text::{is_han, normalize};

use crate::{
    surnames::{is_likely_name, surname_length},
    words,
};

/// Number of characters of a given name.
const GIVEN_NAME_CHARS: usize = 2;

/// Returns the parts of a text that are likely to be names, each once: capitalised words, except common English words
/// at the start of a sentence, and Chinese surnames with the next two characters. Each word of an English name is a
/// result of its own; Chinese given names of one character are not recognised.
///
/// Precision is low, above all in Chinese. The result is good enough to check whether a person is known, but not to
/// extract names.
///
/// ```
/// use memory_engine_graph::likely_names;
///
/// assert_eq!(likely_names("When did Nate move to Porto?"), ["Nate", "Porto"]);
/// assert_eq!(likely_names("马秀兰的生日是哪天？"), ["马秀兰"]);
/// assert!(likely_names("where do I live?").is_empty());
/// ```
pub fn likely_names(text: &str) -> Vec<String> {
    let mut names = capitalised_words(text);
    names.extend(chinese_names(text));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn capitalised_words(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut starts_sentence = true;
    for token in text.split(|c: char| c.is_whitespace() || is_han(c)).filter(|token| !token.is_empty()) {
        let word = words::without_ending(token.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_capitalised = word.starts_with(char::is_uppercase) && word.chars().nth(1).is_some();
        let is_common_start = starts_sentence && words::is_common(&word.to_lowercase());
        let is_first_person = word.starts_with("I'") || word.starts_with("I’");
        if is_capitalised && !is_common_start && !is_first_person {
            names.push(word.to_owned());
        }
        starts_sentence = token.ends_with(['.', '!', '?', ':', '"', '”']);
    }
    names
}

fn chinese_names(text: &str) -> Vec<String> {
    let characters: Vec<char> = normalize(text).chars().collect();
    let mut names = Vec::new();
    let mut covered = 0;
    for start in 0..characters.len() {
        let Some(surname) = surname_length(&characters[start..]) else { continue };
        let end = start + surname + GIVEN_NAME_CHARS;
        // Skips a shorter name inside the previous one: 阳晓月 in 欧阳晓月.
        if end > covered && is_likely_name(&characters, start, surname, GIVEN_NAME_CHARS) {
            names.push(characters[start..end].iter().collect());
            covered = end;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_in_both_languages() {
        assert_eq!(
            likely_names("Did Nicolas visit Nebraas's house in May? Nicolas knows."),
            ["Nicolas", "Nebraas", "May"]
        );
        assert_eq!(likely_names("欧阳晓月和王小明，谁更高？"), ["欧阳晓月", "王小明"]);
        assert_eq!(likely_names("馬秀蘭在哪裡？").len(), 1, "traditional characters");
    }

    #[test]
    fn ordinary_questions_have_no_names() {
        for text in ["What's the plan? Where did I put it?", "我的时间安排是什么？", "你好吗", ""] {
            assert!(likely_names(text).is_empty(), "{text}: {:?}", likely_names(text));
        }
    }
}
