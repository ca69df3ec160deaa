//! Detection of questions that are too vague to search with.

use std::collections::BTreeMap;

use memory_engine_core::{phrases::fold, text::is_han};
use memory_engine_text::{Words, data};
use serde::Deserialize;

/// Pronouns, question words and other words without a topic. The names of the groups only structure the files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeakWords {
    chinese: BTreeMap<String, Words>,
    english: BTreeMap<String, Words>,
}

data!(WEAK: WeakWords = "zh/weak_question.toml", "en/weak_question.toml");

/// Returns true if a question names no topic to search for, such as "那个事情后来怎么样？" or "what happened then?". Its
/// topic is in the dialogue before it.
///
/// In a weak question every word is a pronoun, a question word or another word without a topic. A name, a number, a
/// noun or any unlisted word makes a question strong. A text without words is not weak.
///
/// ```
/// use memory_engine_context::weak_question;
///
/// assert!(weak_question("你今天有什么不一样？") && weak_question("How did it go?"));
/// assert!(!weak_question("晚饭推荐什么？") && !weak_question("How did the interview go?"));
/// ```
pub fn weak_question(text: &str) -> bool {
    let folded = fold(text);
    let mut rest = folded.as_str();
    let mut has_words = false;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_alphanumeric() || is_han(c) {
            let Some(word) = weak_word_at_start(rest) else { return false };
            has_words = true;
            word.len()
        } else {
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    has_words
}

/// Returns the word without a topic that a folded text begins with.
pub(crate) fn weak_word_at_start(text: &str) -> Option<&str> {
    if text.starts_with(is_han) { chinese_weak_word(text) } else { english_weak_word(text) }
}

/// Returns the longest weak Chinese word that a text begins with.
fn chinese_weak_word(text: &str) -> Option<&str> {
    let matching = WEAK.chinese.values().flat_map(Words::iter).filter(|word| text.starts_with(word));
    matching.max_by_key(|word| word.len())
}

/// Returns the English word that a text begins with, or `None` if it is not weak.
fn english_weak_word(text: &str) -> Option<&str> {
    let is_outside_word = |c: char| is_han(c) || !(c.is_alphanumeric() || matches!(c, '\'' | '’'));
    let word = &text[..text.find(is_outside_word).unwrap_or(text.len())];
    let without_apostrophes = word.replace(['\'', '’'], "");
    WEAK.english.values().any(|words| words.contains(&without_apostrophes)).then_some(word)
}

#[cfg(test)]
mod tests;
