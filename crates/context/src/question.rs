//! Questions that say too little to search with.

use std::collections::BTreeMap;

use memory_engine_core::{phrases::fold, text::is_han};
use memory_engine_rule_data::{Words, data};
use serde::Deserialize;

/// Words that point, ask, or stand for anything, by groups whose names only order the files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeakWords {
    chinese: BTreeMap<String, Words>,
    english: BTreeMap<String, Words>,
}

data!(WEAK: WeakWords = "zh/weak_question.toml", "en/weak_question.toml");

/// Whether a question names nothing that could be searched for: it only points ("那个事情后来怎么样？", "what happened then?"), so
/// that without the dialogue before it nobody knows what it is about.
///
/// Every word has to be one of those that point, ask or stand for anything. A name, a number, a thing, and any word that is
/// not known here make a question strong, as does text that is no word at all.
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
    let mut words = 0;
    while let Some(c) = rest.chars().next() {
        let taken = if is_han(c) {
            let fitting = WEAK.chinese.values().flat_map(Words::iter).filter(|word| rest.starts_with(word));
            let Some(word) = fitting.max_by_key(|word| word.len()) else { return false };
            words += 1;
            word.len()
        } else if c.is_alphanumeric() {
            let end = rest.find(|c: char| is_han(c) || !(c.is_alphanumeric() || c == '\'' || c == '’'));
            let word = &rest[..end.unwrap_or(rest.len())];
            let plain = word.replace(['\'', '’'], "");
            if !WEAK.english.values().any(|words| words.contains(&plain)) {
                return false;
            }
            words += 1;
            word.len()
        } else {
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    words > 0
}

#[cfg(test)]
mod tests;
