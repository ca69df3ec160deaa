//! Terms and key phrases of a text, without a dictionary.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::Words;

use crate::data::{DataPattern, data};

data! {
    DATA = "zh/topics.toml", "en/topics.toml";
    BTreeSet<String>: stop_words;
    DataPattern: zh_stop_words;
    Words: endings;
}

/// Maximum length of a key phrase: in words, in Chinese characters, and in Chinese characters if there is no shorter
/// phrase.
const TOPIC_MAX_WORDS: usize = 3;
const TOPIC_MAX_CHARS: usize = 6;
const LONG_TOPIC_MAX_CHARS: usize = 10;

/// Returns true for an English stop word, and for a single character.
pub(crate) fn is_stop(word: &str) -> bool {
    word.chars().count() < 2 || DATA.stop_words.contains(word)
}

/// Returns the terms of a text for comparing texts: its English words as stems, and the character bigrams of its
/// Chinese phrases.
pub(crate) fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for phrase in phrases(text) {
        match phrase {
            Phrase::Words(words) => found.extend(words.iter().map(|word| stem(word))),
            Phrase::Han(phrase) => {
                let chars: Vec<char> = phrase.chars().collect();
                found.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
    }
    found
}

fn stem(word: &str) -> String {
    let stem = DATA.endings.strip_end(word).unwrap_or(word);
    let stem = if stem.chars().count() < 3 { word } else { stem };
    stem.trim_end_matches('e').to_owned()
}

/// A run of words between stop words and punctuation marks.
#[derive(Debug, PartialEq)]
enum Phrase {
    Words(Vec<String>),
    Han(String),
}

fn phrases(text: &str) -> Vec<Phrase> {
    let folded = normalize(text).replace('’', "'");
    let mut found = Vec::new();
    let mut words = Vec::new();
    let mut rest = folded.as_str();
    while let Some(c) = rest.chars().next() {
        let length = if is_han(c) {
            run_length(rest, is_han)
        } else if c.is_alphanumeric() {
            run_length(rest, |c| (c.is_alphanumeric() && !is_han(c)) || matches!(c, '\'' | '-'))
        } else {
            c.len_utf8()
        };
        let (part, after) = rest.split_at(length);
        match word(part) {
            Some(word) => words.push(word.to_owned()),
            None if c.is_whitespace() => {}
            None => flush(&mut words, &mut found),
        }
        if is_han(c) {
            let parts = DATA.zh_stop_words.split(part).filter(|part| part.chars().count() > 1);
            found.extend(parts.map(|part| Phrase::Han(part.to_owned())));
        }
        rest = after;
    }
    flush(&mut words, &mut found);
    found
}

fn run_length(text: &str, is_inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_inside(c)).unwrap_or(text.len())
}

/// Returns the word of a run of letters; `None` for other characters, a number or a stop word.
fn word(run: &str) -> Option<&str> {
    let word = run.trim_matches(['\'', '-']);
    let word = word.strip_suffix("'s").unwrap_or(word);
    let is_word = word.starts_with(|c: char| c.is_alphanumeric() && !is_han(c));
    (is_word && !is_stop(word) && !word.chars().all(|c| c.is_ascii_digit())).then_some(word)
}

fn flush(words: &mut Vec<String>, found: &mut Vec<Phrase>) {
    if !words.is_empty() {
        found.push(Phrase::Words(std::mem::take(words)));
    }
}

/// Returns at most `limit` key phrases of a text, best first, by RAKE (S. Rose et al., "Automatic Keyword Extraction
/// from Individual Documents", 2010). Unlike there, the score of a phrase is the sum of the frequencies of its terms,
/// divided by the square root of its length.
pub(crate) fn key_phrases(text: &str, limit: usize) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for term in terms(text) {
        *counts.entry(term).or_default() += 1;
    }
    let mut ranked: Vec<(f64, String)> = Vec::new();
    for phrase in candidates(text) {
        if !ranked.iter().any(|(_, known)| *known == phrase) {
            ranked.push((weight(&phrase, &counts), phrase));
        }
    }
    // The sort is stable: phrases of equal weight keep the order of the text.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut selected: Vec<String> = Vec::new();
    for (_, phrase) in ranked {
        let overlaps = selected.iter().any(|known| known.contains(&phrase) || phrase.contains(known.as_str()));
        if selected.len() < limit && !overlaps {
            selected.push(phrase);
        }
    }
    selected
}

/// Returns the phrases of a text that may be key phrases.
fn candidates(text: &str) -> Vec<String> {
    let phrases = phrases(text).into_iter().filter_map(|phrase| match phrase {
        Phrase::Words(words) if words.len() <= TOPIC_MAX_WORDS => Some(words.join(" ")),
        Phrase::Words(words) => words.last().cloned(),
        Phrase::Han(phrase) => Some(phrase),
    });
    // Without a dictionary, a long run of Chinese characters is probably no phrase. It is used only if there is no
    // shorter one.
    let is_short = |phrase: &String| !phrase.chars().all(is_han) || phrase.chars().count() <= TOPIC_MAX_CHARS;
    let (short, long): (Vec<String>, Vec<String>) = phrases.partition(is_short);
    if short.is_empty() {
        long.iter().map(|phrase| phrase.chars().take(LONG_TOPIC_MAX_CHARS).collect()).collect()
    } else {
        short
    }
}

fn weight(phrase: &str, counts: &BTreeMap<String, usize>) -> f64 {
    let terms = terms(phrase);
    let sum: usize = terms.iter().map(|term| counts.get(term).copied().unwrap_or(0)).sum();
    sum as f64 / (terms.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests;
