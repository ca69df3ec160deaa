//! A run of Chinese characters.

#[cfg(feature = "chinese")]
mod dictionary;
#[cfg(not(feature = "chinese"))]
#[path = "han/stop_words_only.rs"]
mod dictionary;
mod token;

/// The name and version of the terms that [`analyze`] gives.
pub(super) const VERSION: &str = dictionary::VERSION;

/// Weights of terms in a question.
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

/// Gives the terms of a run: characters, pairs of them, and dictionary words of three or more.
pub(super) fn analyze(run: &[char], emit: &mut impl FnMut(String, f64)) {
    let mut places = vec![Position::default(); run.len()];
    for token in dictionary::tokens_for_search(run) {
        let length = token.end - token.start;
        // A token covers its parts, which come before it, so that the whole word decides.
        for place in &mut places[token.start..token.end] {
            *place = Position { word: token.start, length, stop: token.is_stop_word };
        }
        if token.is_dictionary_word && length > 2 && !token.is_stop_word {
            emit(run[token.start..token.end].iter().collect(), weight::WORD);
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

/// Returns the words of a run as indexes of their first character and of the one after the last, without stop words.
pub(super) fn cut(run: &[char]) -> Vec<(usize, usize)> {
    let words = dictionary::tokens(run).into_iter().filter(|token| !token.is_stop_word);
    words.map(|token| (token.start, token.end)).collect()
}

/// The word that a character belongs to.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    word: usize,
    length: usize,
    stop: bool,
}
