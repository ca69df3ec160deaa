//! Analyzes words of letters and digits, including compounds, numbers and dates.

use rust_stemmers::{Algorithm, Stemmer};

use super::{stop_words, syllabic::is_syllabic};
use memory_engine_core::text::is_han;

/// Returns the number of characters of the word at the beginning of `characters`.
///
/// A word consists of letters, digits and combining marks, with single joiners between them (`e-mail`, `3.14`, `8:30`,
/// `don't`) and up to two trailing `+` or `#` (`c++`, `c#`).
pub(super) fn length(characters: &[char]) -> usize {
    let mut end = 0;
    while let Some(c) = characters.get(end) {
        let is_joined = is_joiner(*c) && characters.get(end + 1).is_some_and(|next| is_part(*next));
        if !is_part(*c) && !is_joined {
            break;
        }
        end += 1;
    }
    end + characters[end..].iter().take(2).take_while(|c| matches!(c, '+' | '#')).count()
}

fn is_part(c: char) -> bool {
    (c.is_alphanumeric() || is_mark(c)) && !is_han(c) && !is_syllabic(c)
}

/// Returns true for combining marks within words: accents, Arabic vowels, and vowel signs of Devanagari and Thai.
fn is_mark(c: char) -> bool {
    matches!(
        u32::from(c),
        0x300..=0x36f | 0x64b..=0x65f | 0x900..=0x903 | 0x93a..=0x94f | 0xe31 | 0xe34..=0xe3a | 0xe47..=0xe4e
    )
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\'' | '’' | '-' | '.' | ',' | ':' | '_' | '/')
}

/// Emits the terms of a word: the word itself, and its parts if it is a compound.
pub(super) fn analyze(word: &[char], emit: &mut impl FnMut(String, f64)) {
    let text: String = word.iter().collect();
    let without_possessive = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(&text);
    let plain = without_possessive.replace(['\'', '’'], "");
    let parts: Vec<&str> = plain.split(['-', '.', ',', ':', '_', '/']).filter(|part| !part.is_empty()).collect();
    if let [_] = parts.as_slice() {
        return emit_term(&plain, emit);
    }
    let is_numeric = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
    if plain.contains(',') && parts.iter().all(is_numeric) {
        return emit(parts.concat(), 1.0); // 6,800 becomes 6800
    }
    if parts.iter().any(|part| part.chars().any(|c| c.is_ascii_digit())) {
        emit(plain.trim_matches(|c: char| !c.is_alphanumeric()).to_owned(), 1.0);
    }
    parts.iter().for_each(|part| emit_term(part, emit));
}

/// Emits a word, stemmed if it is English, unless it is a stop word.
fn emit_term(word: &str, emit: &mut impl FnMut(String, f64)) {
    if stop_words::is_english(word) {
        return;
    }
    if word.chars().all(|c| c.is_ascii_alphabetic()) {
        emit(Stemmer::create(Algorithm::English).stem(word).into_owned(), 1.0);
    } else {
        emit(word.to_owned(), 1.0);
    }
}
