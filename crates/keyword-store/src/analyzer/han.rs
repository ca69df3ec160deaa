//! A run of Chinese characters.

use std::sync::LazyLock;

use jieba_rs::{Jieba, TokenizeMode};

use super::stop_words;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// How much the terms of a question count.
mod weight {
    /// Two characters of one word.
    pub(super) const PAIR: f64 = 1.0;
    /// Two characters of two neighbouring words.
    pub(super) const ACROSS: f64 = 0.5;
    /// Two characters, one of them of a stop word.
    pub(super) const BESIDE_STOP_WORD: f64 = 0.25;
    /// A dictionary word of three or more characters.
    pub(super) const WORD: f64 = 0.5;
    /// A word of one character.
    pub(super) const SINGLE: f64 = 0.5;
    /// One character of a longer word.
    pub(super) const CHARACTER: f64 = 0.1;
}

/// Gives the terms of a run: characters, pairs of them, and words of three or more.
pub(super) fn analyze(run: &[char], emit: &mut impl FnMut(String, f64)) {
    let text: String = run.iter().collect();
    let mut places = vec![Place::default(); run.len()];
    for token in JIEBA.tokenize(&text, TokenizeMode::Search, true) {
        let length = token.end - token.start;
        let stop = stop_words::is_chinese(token.word);
        // Search mode gives the parts of a long word before the word itself, so that the whole word has the last say.
        for place in &mut places[token.start..token.end] {
            *place = Place { word: token.start, length, stop };
        }
        if length > 2 && !stop {
            emit(token.word.to_owned(), weight::WORD);
        }
    }
    for (character, place) in run.iter().zip(&places) {
        if !place.stop {
            emit(character.to_string(), if place.length == 1 { weight::SINGLE } else { weight::CHARACTER });
        }
    }
    for (pair, place) in run.windows(2).zip(places.windows(2)) {
        let weight = match (place[0], place[1]) {
            (a, b) if a.stop && b.stop => continue,
            (a, b) if a.stop || b.stop => weight::BESIDE_STOP_WORD,
            (a, b) if a.word == b.word => weight::PAIR,
            _ => weight::ACROSS,
        };
        emit(pair.iter().collect(), weight);
    }
}

/// The words of a run as places of their first character and of the one after the last, without stop words.
pub(super) fn cut(run: &[char]) -> Vec<(usize, usize)> {
    let text: String = run.iter().collect();
    let tokens = JIEBA.tokenize(&text, TokenizeMode::Default, true);
    let words = tokens.into_iter().filter(|token| !stop_words::is_chinese(token.word));
    words.map(|token| (token.start, token.end)).collect()
}

/// The word that a character belongs to.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    word: usize,
    length: usize,
    stop: bool,
}
