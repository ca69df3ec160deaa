//! Finds words that are likely to be names, without a list of full names.

use std::collections::{BTreeSet, HashSet};

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{
    surnames::{is_likely_name, surname_length},
    titles, words,
};

/// Number of characters of a given name.
const GIVEN_NAME_CHARS: usize = 2;

/// Words that are no names at the start of a sentence, even before a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentenceStarts {
    /// Verbs and other words, in lower case.
    words: HashSet<String>,
    /// Endings of verb forms.
    endings: Words,
    /// Minimum number of characters of a word with one of the endings.
    ending_min_chars: usize,
    /// Words whose full stop does not end a sentence, in addition to titles.
    abbreviations: Words,
}

data!(STARTS: SentenceStarts = "en/sentence_starts.toml");

/// Returns the parts of a text that are likely to be names, each once: capitalised English words, and Chinese surnames
/// with the next two characters. Each word of an English name is a result of its own; Chinese given names of one
/// character are not recognised.
///
/// The first word of an English sentence has a capital in any case. It counts as a name only if it is also capitalised
/// inside a sentence of the text, or if another capitalised word follows it and it is no verb. A name that only stands
/// at the start of a sentence is not found: `Caroline` in "Caroline works where?".
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
/// assert!(likely_names("Ordering dinner for two").is_empty());
/// ```
pub fn likely_names(text: &str) -> Vec<String> {
    let mut names = capitalised_words(text);
    names.extend(chinese_names(text));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// A capitalised word of a text.
#[derive(Debug)]
struct CapitalisedWord<'t> {
    word: &'t str,
    starts_sentence: bool,
    /// True if the next word is capitalised and in the same clause.
    precedes_capital: bool,
}

fn capitalised_words(text: &str) -> Vec<String> {
    // In a Chinese sentence, an English word has no capital because of its place.
    let is_english = !text.contains(is_han);
    let words = read_capitalised_words(text);
    let inside: HashSet<&str> = words.iter().filter(|word| !word.starts_sentence).map(|word| word.word).collect();
    let is_name = |found: &&CapitalisedWord<'_>| {
        // A second capital is not due to the place in the sentence: KSK, McAllister.
        let has_inner_capital = found.word.chars().skip(1).any(char::is_uppercase);
        if !found.starts_sentence {
            return true;
        }
        let lower = found.word.to_lowercase();
        !words::is_common(&lower)
            && (!is_english
                || has_inner_capital
                || inside.contains(found.word)
                || (found.precedes_capital && !is_sentence_start(&lower)))
    };
    words.iter().filter(is_name).map(|found| found.word.to_owned()).collect()
}

/// Returns the capitalised words of a text, without forms of "I".
fn read_capitalised_words(text: &str) -> Vec<CapitalisedWord<'_>> {
    let mut found: Vec<CapitalisedWord<'_>> = Vec::new();
    for line in text.split('\n') {
        let mut starts_sentence = true;
        // True if the last word of `found` is the previous word of this line, and no mark stands after it.
        let mut is_adjacent = false;
        for token in line.split(|c: char| c.is_whitespace() || is_han(c)).filter(|token| !token.is_empty()) {
            let word = words::without_ending(token.trim_matches(|c: char| !c.is_alphanumeric()));
            if word.is_empty() {
                is_adjacent = false;
                continue;
            }
            let is_first_person = word == "I" || word.starts_with("I'") || word.starts_with("I’");
            let is_capitalised = word.starts_with(char::is_uppercase) && word.chars().nth(1).is_some();
            let is_quoted = token.starts_with(['"', '“', '‘', '(']);
            if is_capitalised && !is_first_person {
                if let Some(previous) = found.last_mut().filter(|_| is_adjacent) {
                    previous.precedes_capital = true;
                }
                let starts_sentence = starts_sentence || is_quoted;
                found.push(CapitalisedWord { word, starts_sentence, precedes_capital: false });
            }
            is_adjacent = is_capitalised && !is_first_person && token.ends_with(char::is_alphanumeric);
            starts_sentence = ends_sentence(token);
        }
    }
    found
}

/// Returns true if a sentence ends with this token. The full stop of a title or an initial does not end it.
fn ends_sentence(token: &str) -> bool {
    let bare = token.trim_end_matches('.').trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_initial = bare.chars().count() == 1 && bare.starts_with(char::is_uppercase) && bare != "I";
    let is_listed = titles::is_prefix(bare) || STARTS.abbreviations.contains(&bare.to_lowercase());
    let is_abbreviation = token.ends_with('.') && (is_listed || is_initial);
    token.ends_with(['.', '!', '?', ':', ';', '"', '”', '…']) && !is_abbreviation
}

/// Returns true if a word in lower case starts sentences without being a name.
fn is_sentence_start(lower: &str) -> bool {
    let is_verb_form = STARTS.endings.any_ends(lower) && lower.chars().count() >= STARTS.ending_min_chars;
    is_verb_form || STARTS.words.contains(lower)
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
    fn the_first_word_of_a_sentence_needs_more_than_its_capital() {
        let names = |text: &str| likely_names(text).join(" ");
        for (text, expected) in [
            ("Walking Pepper along the canal", "Pepper"),
            ("Booking a table. Craving soup!", ""),
            ("Visit Lisbon or Porto?", "Lisbon Porto"),
            ("Invite Olga", "Olga"),
            ("Grilled cheese\nRoasted peppers", ""),
            ("He said \"Stop here\" twice.", ""),
            ("Olga moved. When did Olga move?", "Olga"),
            ("Olga Petrova works where?", "Olga Petrova"),
            ("Ask Dr. Lindqvist about it", "Dr Lindqvist"),
            ("The tram to St. Gallen", "St Gallen"),
            ("Lunch, Olga and soup", "Olga"),
            ("Olga works where?", ""),
            ("BBK opens when?", "BBK"),
            ("Olga 喜欢什么？", "Olga"),
        ] {
            assert_eq!(names(text).replace('.', ""), expected, "{text}");
        }
    }

    #[test]
    fn ordinary_questions_have_no_names() {
        for text in ["What's the plan? Where did I put it?", "我的时间安排是什么？", "你好吗", ""] {
            assert!(likely_names(text).is_empty(), "{text}: {:?}", likely_names(text));
        }
    }
}
