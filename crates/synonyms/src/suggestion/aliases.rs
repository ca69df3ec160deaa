//! Sentences that state two names of one thing.

use memory_engine_core::phrases::{fold, stands_alone};
use memory_engine_keyword_store::words;
use memory_engine_text::data;
use serde::Deserialize;

use super::corpus::{Corpus, WordId};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Aliases {
    /// Phrases between the two names.
    en_aliases: Vec<String>,
    zh_aliases: Vec<String>,
    /// Words that are no name.
    en_not_names: Vec<String>,
    zh_not_names: Vec<String>,
}

data!(ALIASES: Aliases = "en/aliases.toml", "zh/aliases.toml");

/// Characters that may be between a name and the phrase.
const SEPARATORS: [char; 20] =
    [' ', ',', '，', '、', '"', '\'', '“', '”', '‘', '’', '「', '」', '《', '》', '(', ')', '（', '）', '：', ':'];

/// Characters before a noun that is described or counted, not named.
const DESCRIPTION_ENDS: [char; 7] = ['的', '个', '位', '只', '种', '名', '条'];

/// Returns the pairs that sentences state: "Sus is short for suspicious", 「团子又叫小白」.
pub(super) fn stated_aliases(corpus: &Corpus<'_>) -> Vec<(WordId, WordId)> {
    let mut pairs = Vec::new();
    for (_, sentence) in &corpus.sentences {
        let folded = fold(sentence);
        let phrases = if folded.is_ascii() { &ALIASES.en_aliases } else { &ALIASES.zh_aliases };
        for phrase in phrases {
            for (start, _) in folded.match_indices(phrase.as_str()) {
                let end = start + phrase.len();
                if stands_alone(&folded, start, end)
                    && let Some(first) = last_word(&folded[..start])
                    && let Some(second) = first_word(&folded[end..])
                    && let (Some(first), Some(second)) = (corpus.id(first), corpus.id(second))
                {
                    pairs.push((first, second));
                }
            }
        }
    }
    pairs
}

/// Returns the word at the end of a text, if it is not the end of a longer phrase.
fn last_word(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(SEPARATORS);
    let mut words = words(text);
    let word = words.pop()?;
    let is_at_end = word.start + word.text.len() == text.len();
    let ends_phrase = word.text.is_ascii()
        && words.last().is_some_and(|previous| previous.start + previous.text.len() + " ".len() == word.start);
    // "那个活跃的男生" describes a person and is not a name.
    let is_described = text[..word.start].ends_with(DESCRIPTION_ENDS);
    (is_at_end && !ends_phrase && !is_described && is_possible_name(word.text)).then_some(word.text)
}

/// Returns the word at the beginning of a text, if it is not the beginning of a longer phrase.
fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(SEPARATORS);
    let word = words(text).into_iter().next()?;
    let after = &text[word.text.len()..];
    let is_whole = after.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != ' ' && c != '-');
    (word.start == 0 && is_whole && is_possible_name(word.text)).then_some(word.text)
}

fn is_possible_name(word: &str) -> bool {
    let listed = ALIASES.en_not_names.iter().chain(&ALIASES.zh_not_names).any(|known| known == word);
    word.chars().count() > 1 && word.chars().any(char::is_alphabetic) && !listed
}
