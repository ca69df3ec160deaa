//! Detection of messages without content.

use memory_engine_core::phrases::fold;
use memory_engine_text::{Words, data};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackchannelWords {
    chinese: Lists,
    english: Lists,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    /// Answers that only confirm, thank or praise.
    responses: Words,
    /// Greetings and goodbyes.
    greetings: Words,
    /// Words that stress a response.
    stress: Words,
    /// Syllables of laughter, repeated any number of times.
    laughter: Words,
}

data!(WORDS: BackchannelWords = "zh/backchannel.toml", "en/backchannel.toml");

/// A letter repeated at least this many times in a row is written once: "soooo".
const STRETCH_MIN_LETTERS: usize = 3;

/// Returns true if a text consists of responses, greetings and laughter only, such as "ok thanks!" or 好的谢谢. It has
/// nothing to search for and states nothing. A text without words is no backchannel.
///
/// ```
/// use memory_engine_context::is_backchannel;
///
/// assert!(is_backchannel("haha nice") && is_backchannel("好的，谢谢！"));
/// assert!(!is_backchannel("nice shrimps") && !is_backchannel("好吃"));
/// ```
pub fn is_backchannel(text: &str) -> bool {
    let text = without_stretched_letters(&fold(text).replace(['\'', '’'], ""));
    let mut rest = text.as_str();
    let mut has_words = false;
    while let Some(c) = rest.chars().next() {
        if c.is_alphanumeric() {
            let Some(length) = word_length(rest) else { return false };
            has_words = true;
            rest = &rest[length..];
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    has_words
}

/// Returns the length in bytes of the longest listed word that a text begins with.
fn word_length(text: &str) -> Option<usize> {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let lists = [&WORDS.chinese, &WORDS.english];
    let words = lists.into_iter().flat_map(|lists| [&lists.responses, &lists.greetings, &lists.stress]);
    let ends_word = |word: &str| !(word.ends_with(is_letter) && text[word.len()..].starts_with(is_letter));
    let listed = words.flat_map(Words::iter).filter(|word| text.starts_with(word) && ends_word(word));
    listed.map(str::len).max().or_else(|| laughter_length(text))
}

/// Returns the length in bytes of the laughter that a text begins with: "hahaha".
fn laughter_length(text: &str) -> Option<usize> {
    let lists = [&WORDS.chinese, &WORDS.english];
    lists.into_iter().flat_map(|lists| lists.laughter.iter()).find_map(|syllable| {
        let after = text.trim_start_matches(syllable);
        // The last syllable may be incomplete: "hahah".
        let end = after.strip_prefix('h').unwrap_or(after);
        let is_laughter = after.len() < text.len() && !end.starts_with(|c: char| c.is_ascii_alphanumeric());
        is_laughter.then_some(text.len() - end.len())
    })
}

/// Returns the text with one letter in place of each run of at least [`STRETCH_MIN_LETTERS`] equal letters.
fn without_stretched_letters(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let runs = letters.chunk_by(|a, b| a == b);
    runs.flat_map(|run| {
        let is_stretched = run.len() >= STRETCH_MIN_LETTERS && run[0].is_alphabetic();
        &run[..if is_stretched { 1 } else { run.len() }]
    })
    .collect()
}

#[cfg(test)]
mod tests;
