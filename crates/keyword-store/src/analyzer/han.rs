//! Analyzes a run of Chinese characters: characters, pairs of characters and dictionary words become terms.
//!
//! Reasons: `docs/design/decisions/0010-chinese-bigrams-and-dictionary.md`.

#[cfg(feature = "chinese")]
mod dictionary;
#[cfg(not(feature = "chinese"))]
#[path = "han/stop_words_only.rs"]
mod dictionary;
mod token;

/// The name and version of the terms that [`analyze`] emits.
pub(super) const VERSION: &str = dictionary::VERSION;

/// Weight in a query of a pair of characters within one word.
const PAIR_WEIGHT: f64 = 1.0;
/// Weight in a query of a pair of characters across a word boundary.
const BOUNDARY_PAIR_WEIGHT: f64 = 0.5;
/// Weight in a query of a pair of characters, one of which belongs to a stop word.
const STOP_WORD_PAIR_WEIGHT: f64 = 0.25;
/// Weight in a query of a dictionary word of three or more characters.
const WORD_WEIGHT: f64 = 0.5;
/// Weight in a query of a word of one character.
const SINGLE_CHARACTER_WORD_WEIGHT: f64 = 0.5;
/// Weight in a query of one character of a longer word.
const CHARACTER_WEIGHT: f64 = 0.1;

/// Emits the terms of a run with their weights: characters, pairs of them, and dictionary words of three or more.
pub(super) fn analyze(run: &[char], emit: &mut impl FnMut(String, f64)) {
    let mut containing_words = vec![ContainingWord::default(); run.len()];
    for token in dictionary::tokens_for_search(run) {
        let length = token.end - token.start;
        // The parts of a long word come before it, so that the whole word overwrites them.
        for word in &mut containing_words[token.start..token.end] {
            *word = ContainingWord { start: token.start, length, is_stop_word: token.is_stop_word };
        }
        if token.is_dictionary_word && length > 2 && !token.is_stop_word {
            emit(run[token.start..token.end].iter().collect(), WORD_WEIGHT);
        }
    }
    for (character, word) in run.iter().zip(&containing_words) {
        if !word.is_stop_word {
            let weight = if word.length == 1 { SINGLE_CHARACTER_WORD_WEIGHT } else { CHARACTER_WEIGHT };
            emit(character.to_string(), weight);
        }
    }
    for (pair, words) in run.windows(2).zip(containing_words.windows(2)) {
        let weight = match (words[0], words[1]) {
            (a, b) if a.is_stop_word && b.is_stop_word => continue,
            (a, b) if a.is_stop_word || b.is_stop_word => STOP_WORD_PAIR_WEIGHT,
            (a, b) if a.start == b.start => PAIR_WEIGHT,
            _ => BOUNDARY_PAIR_WEIGHT,
        };
        emit(pair.iter().collect(), weight);
    }
}

/// Returns the words of a run without stop words, as ranges (start, end) of characters.
pub(super) fn word_ranges(run: &[char]) -> Vec<(usize, usize)> {
    let words = dictionary::tokens(run).into_iter().filter(|token| !token.is_stop_word);
    words.map(|token| (token.start, token.end)).collect()
}

/// The word that a character belongs to.
#[derive(Debug, Clone, Copy, Default)]
struct ContainingWord {
    start: usize,
    length: usize,
    is_stop_word: bool,
}
