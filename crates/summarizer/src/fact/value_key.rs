//! Folds values for comparison.

use memory_engine_core::text::normalize;

use crate::data::{WordList, data};

data! {
    DATA = "zh/value-keys.toml", "en/value-keys.toml";
    WordList: fillers, zh_quantifiers;
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

fn without_plural(word: &str) -> &str {
    let plural = word.len() > 3 && word.is_ascii() && !word.ends_with("ss") && !word.ends_with("us");
    word.strip_suffix('s').filter(|_| plural).unwrap_or(word)
}
