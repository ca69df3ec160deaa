//! A word of letters and digits, with what may stand inside it.

use rust_stemmers::{Algorithm, Stemmer};

use super::{stop_words, syllabic::is_syllabic};
use memory_engine_core::text::is_han;

/// Returns the number of characters of the word at the beginning of `characters`.
///
/// It goes on over letters, digits and marks, over one joining sign between two of them (`e-mail`, `3.14`, `8:30`,
/// `don't`), and takes `+` and `#` at its end (`c++`, `c#`).
pub(super) fn length(characters: &[char]) -> usize {
    let mut end = 0;
    while let Some(c) = characters.get(end) {
        let goes_on = is_part(*c) || (is_joint(*c) && characters.get(end + 1).is_some_and(|next| is_part(*next)));
        if !goes_on {
            break;
        }
        end += 1;
    }
    end + characters[end..].iter().take(2).take_while(|c| matches!(c, '+' | '#')).count()
}

fn is_part(c: char) -> bool {
    (c.is_alphanumeric() || is_mark(c)) && !is_han(c) && !is_syllabic(c)
}

/// A combining mark, as scripts of India and Arabic vowels use them inside words.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f | 0x64b..=0x65f | 0x900..=0x903 | 0x93a..=0x94f | 0xe31 | 0xe34..=0xe3a | 0xe47..=0xe4e)
}

fn is_joint(c: char) -> bool {
    matches!(c, '\'' | '’' | '-' | '.' | ',' | ':' | '_' | '/')
}

/// Gives the terms of a word: itself, and its parts where it is joined.
pub(super) fn analyze(word: &[char], emit: &mut impl FnMut(String, f64)) {
    let plain: String = word.iter().filter(|c| !matches!(c, '\'' | '’')).collect();
    let spelled: String = word.iter().collect();
    let owner = spelled.strip_suffix("'s").or_else(|| spelled.strip_suffix("’s"));
    let plain = owner.map_or(plain, |owner| owner.replace(['\'', '’'], ""));
    let joined: Vec<&str> = plain.split(['-', '.', ',', ':', '_', '/']).filter(|part| !part.is_empty()).collect();
    if let [_] = joined.as_slice() {
        return term(&plain, emit);
    }
    let numeric = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
    if plain.contains(',') && joined.iter().all(numeric) {
        return emit(joined.concat(), 1.0); // 6,800 is 6800
    }
    if joined.iter().any(|part| part.chars().any(|c| c.is_ascii_digit())) {
        emit(plain.trim_matches(|c: char| !c.is_alphanumeric()).to_owned(), 1.0);
    }
    joined.iter().for_each(|part| term(part, emit));
}

fn term(word: &str, emit: &mut impl FnMut(String, f64)) {
    if stop_words::is_english(word) {
        return;
    }
    if word.chars().all(|c| c.is_ascii_alphabetic()) {
        emit(Stemmer::create(Algorithm::English).stem(word).into_owned(), 1.0);
    } else {
        emit(word.to_owned(), 1.0);
    }
}
