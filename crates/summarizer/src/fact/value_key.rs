//! Folds values for comparison.

use std::collections::BTreeMap;

use memory_engine_core::text::normalize;
use memory_engine_text::Words;

use crate::data::{DataPattern, data};

data! {
    DATA = "zh/value-keys.toml", "en/value-keys.toml";
    Words: fillers, zh_quantifiers;
    BTreeMap<String, Words>: kinds;
    DataPattern: wish_frame;
    BTreeMap<String, DataPattern>: wish_topics;
}

/// Returns a value without case, punctuation, articles and plural `s`.
pub(super) fn value_key(value: &str) -> String {
    let folded = normalize(value);
    let words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words: Vec<&str> =
        words.filter(|word| !word.is_empty() && !DATA.fillers.contains(word)).map(without_plural).collect();
    let key = words.join(" ");
    let rest = DATA.zh_quantifiers.strip_start(&key).filter(|rest| !rest.is_empty());
    rest.map(str::to_owned).unwrap_or(key)
}

/// Returns true if a folded value contains a word of a kind: "honda civic" is a "car".
pub(crate) fn is_of_kind(value: &str, kind: &str) -> bool {
    DATA.kinds.get(kind).is_some_and(|words| words.iter().any(|word| contains_word(value, word)))
}

/// Returns the topic of a wish, such as the language of answers, if its first clause is about nothing else.
pub(crate) fn wish_topic(wish: &str) -> Option<&'static str> {
    let folded = normalize(wish);
    let clauses = folded.split([',', '，']).map(|clause| DATA.wish_frame.replace_all(clause, |_| String::new()));
    let bare = clauses.map(|clause| clause.trim().to_owned()).find(|clause| !clause.is_empty())?;
    DATA.wish_topics.iter().find(|(_, words)| words.is_match(&bare)).map(|(topic, _)| topic.as_str())
}

fn contains_word(value: &str, word: &str) -> bool {
    if word.is_ascii() { value.split(' ').any(|part| part == word) } else { value.contains(word) }
}

fn without_plural(word: &str) -> &str {
    let may_be_plural = word.len() > 3 && word.is_ascii() && !word.ends_with("ss") && !word.ends_with("us");
    word.strip_suffix('s').filter(|_| may_be_plural).unwrap_or(word)
}
