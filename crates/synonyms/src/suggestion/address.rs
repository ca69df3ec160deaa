//! Recognises names that address a person.

use memory_engine_text::data;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    greetings: Vec<String>,
}

data!(ADDRESS: Address = "en/greetings.toml");

/// Returns true if a word of an alphabet begins with a capital.
pub(super) fn is_capitalised(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// Returns true if a text ends with a greeting.
pub(super) fn follows_greeting(before: &str) -> bool {
    let last = before.trim_end_matches([' ', ',']).rsplit(char::is_whitespace).next().unwrap_or_default();
    ADDRESS.greetings.iter().any(|greeting| last.eq_ignore_ascii_case(greeting))
}

/// Returns true if the word between two parts of a sentence stands next to another word with a capital. The words of
/// greetings do not count.
pub(super) fn is_in_longer_name(before: &str, after: &str) -> bool {
    let next = after.strip_prefix(' ').is_some_and(is_capitalised);
    let previous = before.strip_suffix(' ').and_then(|before| before.rsplit(char::is_whitespace).next());
    let previous = previous.filter(|word| word.ends_with(char::is_alphanumeric));
    next || previous.is_some_and(|word| is_capitalised(word) && !follows_greeting(before))
}
