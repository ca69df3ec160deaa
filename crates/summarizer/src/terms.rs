//! The words that a text is about, without a dictionary.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::text::{is_han, normalize};

use crate::data::{Pattern, Words, data};

data! {
    DATA = "zh/topics.toml", "en/topics.toml";
    BTreeSet<String>: stop_words;
    Pattern: zh_stop_words;
    Words: endings;
}

/// Maximum length of a phrase in words; in Chinese characters; and where there is nothing shorter.
const TOPIC_MAX_WORDS: usize = 3;
const TOPIC_MAX_CHARS: usize = 6;
const LONG_TOPIC_MAX_CHARS: usize = 10;

/// Returns true if an English word says nothing by itself.
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
                let letters: Vec<char> = phrase.chars().collect();
                found.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
    }
    found
}

fn stem(word: &str) -> String {
    let cut = DATA.endings.strip_end(word).unwrap_or(word);
    let cut = if cut.chars().count() < 3 { word } else { cut };
    cut.trim_end_matches('e').to_owned()
}

/// A run of words between words that say nothing.
#[derive(Debug, PartialEq)]
enum Phrase {
    Words(Vec<String>),
    Han(String),
}

fn phrases(text: &str) -> Vec<Phrase> {
    let folded = normalize(text).replace('’', "'");
    let (mut found, mut words) = (Vec::new(), Vec::new());
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

fn run_length(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// Returns the word of a run of letters; `None` for other characters, for a number and for a word that says nothing.
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

/// The phrases that say most of what a text is about, the best first: those that stand between words which say nothing,
/// weighed by how often their words come and how long they are (as in RAKE, Rose et al. 2010, with the length damped).
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
    // The order of the text stays among phrases of equal weight.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut kept: Vec<String> = Vec::new();
    for (_, phrase) in ranked {
        if kept.len() < limit && !kept.iter().any(|known| known.contains(&phrase) || phrase.contains(known.as_str())) {
            kept.push(phrase);
        }
    }
    kept
}

/// Returns the phrases of a text that may be its topic.
fn candidates(text: &str) -> Vec<String> {
    let phrases = phrases(text).into_iter().filter_map(|phrase| match phrase {
        Phrase::Words(words) if words.len() <= TOPIC_MAX_WORDS => Some(words.join(" ")),
        Phrase::Words(words) => words.last().cloned(),
        Phrase::Han(phrase) => Some(phrase),
    });
    // Without a dictionary a long run of Chinese characters is no phrase; where there is nothing else it is better
    // than none.
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
