//! The form of passwords, codes and keys.

use std::{collections::BTreeMap, ops::Range};

use crate::words::{is_version_name, words};

/// Minimum length of a password, in characters.
const PASSWORD_MIN_CHARS: usize = 4;
/// Minimum length of a password with letters and digits that needs no word before it, in characters.
const MIXED_MIN_CHARS: usize = 6;
/// Minimum number of words of a recovery phrase.
const SEED_MIN_WORDS: usize = 12;
/// Minimum length of the longest part of a token without a prefix of its own, in bytes.
const TOKEN_MIN_BYTES: usize = 12;
/// Minimum entropy of such a token, in bits per character.
const TOKEN_MIN_ENTROPY: f64 = 2.8;

/// Returns the Shannon entropy of a text, in bits per character.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut counts: BTreeMap<char, f64> = BTreeMap::new();
    for character in text.chars() {
        *counts.entry(character).or_default() += 1.0;
    }
    let length: f64 = counts.values().sum();
    counts.values().map(|count| count / length).map(|share| -share * share.log2()).sum()
}

/// Extends a key to the end of its letters, digits, dashes and underscores, so that no part of a longer key is left.
pub(super) fn extended(text: &str, range: Range<usize>) -> Range<usize> {
    let is_key_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_key = text.as_bytes()[..range.end].last().is_some_and(|last| is_key_byte(&last));
    let rest = if is_key { text.as_bytes()[range.end..].iter().take_while(is_key_byte).count() } else { 0 };
    range.start..range.end + rest
}

/// Removes the punctuation of a sentence from the end of a value.
pub(super) fn without_punctuation(text: &str, range: Range<usize>) -> Range<usize> {
    let is_punctuation = |c: char| matches!(c, '.' | ',' | ';' | ':' | '?' | ')' | ']' | '}' | '"' | '\'' | '`' | '\\');
    let value = text[range.clone()].trim_end_matches(is_punctuation);
    range.start..range.start + value.len()
}

/// Returns true if a value can be a password. Words such as `wrong` and quantities such as `2 digits` are none.
pub(super) fn is_password(text: &str, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    let rest = &text[range.end..];
    if value.chars().count() < PASSWORD_MIN_CHARS || value.contains("://") {
        return false;
    }
    // The name of a variable, such as `hashed_password`.
    if value.contains('_') && value.chars().all(|c| c.is_ascii_alphabetic() || c == '_') {
        return false;
    }
    let is_word_character = |c: char| c.is_alphabetic() || matches!(c, '-' | '_' | '.' | '/' | '\'');
    if value.chars().all(|c| c.is_ascii_digit()) {
        return !is_quantity(rest);
    }
    if value.is_ascii() && value.chars().all(is_word_character) {
        let is_stop_word = words().password_stop_words.contains(&value.to_ascii_lowercase());
        return !is_stop_word && ends_clause(rest);
    }
    true
}

/// Returns true if a value has at least six characters, with letters and digits.
pub(super) fn is_mixed(value: &str) -> bool {
    value.chars().count() >= MIXED_MIN_CHARS
        && value.chars().any(|c| c.is_ascii_alphabetic())
        && value.chars().any(|c| c.is_ascii_digit())
}

/// Returns true if a value is no word, name of a version or of a standard: it has letters and digits, and at least two
/// digits, a mark, or a digit before a letter.
pub(super) fn is_distinct(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let has_mark = value.contains(|c: char| c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.' | '/'));
    let has_inner_digit =
        value.as_bytes().windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
    is_mixed(value) && (digits >= 2 || has_mark || has_inner_digit) && !is_version_name(value)
}

/// Returns the words before the first one that no list of words for recovery phrases has, such as `and`.
pub(super) fn before_other_words(text: &str, range: Range<usize>) -> Range<usize> {
    let mut end = range.start;
    for word in text[range.clone()].split_inclusive(|c: char| !c.is_alphabetic()) {
        if words().words_outside_of_seeds.contains(word.trim_end_matches(|c: char| !c.is_alphabetic())) {
            break;
        }
        end += word.len();
    }
    range.start..range.start + text[range.start..end].trim_end_matches(|c: char| !c.is_alphabetic()).len()
}

/// Returns true if a value has as many words as a recovery phrase has at least.
pub(super) fn is_seed_phrase(value: &str) -> bool {
    value.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).count() >= SEED_MIN_WORDS
}

/// Returns true if the value is not part of a longer number, word or decimal.
pub(super) fn is_separate(text: &str, range: &Range<usize>) -> bool {
    let continues = |byte: Option<&u8>, next: Option<&u8>| match byte {
        Some(b'.' | b'-' | b'/') => next.is_some_and(u8::is_ascii_digit),
        Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'_',
        None => false,
    };
    let before = &text.as_bytes()[..range.start];
    let after = &text.as_bytes()[range.end..];
    let mut previous = before.iter().rev();
    let mut next = after.iter();
    !continues(previous.next(), previous.next()) && !continues(next.next(), next.next())
}

/// Returns true if a value can be a one-time code.
pub(super) fn is_code(text: &str, range: &Range<usize>) -> bool {
    is_separate(text, range) && !is_quantity(&text[range.end..])
}

/// Returns true if a value is long and has letters and digits in no order. Paths, calls and names of code are none:
/// they consist of short parts.
pub(super) fn is_token(text: &str, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    let is_code = ["(", "::"].iter().any(|next| text[range.end..].starts_with(next));
    let longest_part = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    !is_code && longest_part >= TOKEN_MIN_BYTES && is_mixed(value) && entropy(value) >= TOKEN_MIN_ENTROPY
}

/// Returns true if a value has the digits of a telephone number, and is not a date such as `2025-03-14`.
pub(super) fn is_phone(value: &str) -> bool {
    let groups: Vec<&str> = value.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let is_date = groups.first().is_some_and(|year| year.len() == 4 && matches!(&year[..2], "19" | "20"))
        && groups[1..].iter().all(|group| group.len() <= 2);
    (7..=15).contains(&groups.iter().map(|group| group.len()).sum::<usize>()) && !is_date
}

/// Returns true if a unit follows, such as `characters` or 年.
fn is_quantity(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '-', '~']).to_lowercase();
    words().units.iter().any(|unit| {
        rest.strip_prefix(unit).is_some_and(|after| {
            let is_word = unit.is_ascii() && after.starts_with(|c: char| c.is_ascii_alphabetic());
            !is_word
        })
    })
}

/// Returns true if the sentence or clause ends here, or is continued in Chinese.
fn ends_clause(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    let Some(next) = rest.chars().next() else { return true };
    let is_continued = ["and ", "but ", "btw", "please", "now", "so "].iter().any(|word| rest.starts_with(word));
    !(next.is_ascii_alphanumeric() || matches!(next, '=' | '(' | '/' | '[')) || is_continued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_of_texts() {
        assert!(entropy("aaaa").abs() < 1e-9);
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn tokens_have_letters_and_digits_in_no_order() {
        let is_token = |value: &str| super::is_token(value, &(0..value.len()));
        assert!(is_token("9f8a7c6b5d4e3f2a") && is_token("kT-9f8a7c6b5d4e3f2a"));
        assert!(!is_token("configuration") && !is_token("a1a1a1a1a1a1a1") && !is_token("202411270001"));
        assert!(!is_token("https://example.com/a1") && !is_token("test-ca/rsa-2048/end.key"));
        assert!(!super::is_token("spawn4711thread0x(1)", &(0..17)));
    }

    #[test]
    fn passwords_without_a_mark_are_no_names() {
        for value in ["kP7#mmTw2", "hunter4471", "wint3rSun", "Mango!7", "blue-otter-91"] {
            assert!(is_distinct(value), "{value}");
        }
        let names =
            ["sha256", "version2", "RFC2617", "CVE-2024-1234", "2fa-enabled", "lin2@example.com", "notes22.txt"];
        for value in names {
            assert!(!is_distinct(value), "{value}");
        }
    }

    #[test]
    fn telephone_numbers_are_no_dates() {
        assert!(is_phone("+44 20 7946 0958") && is_phone("5550132"));
        assert!(!is_phone("2025-03-14") && !is_phone("555-013") && !is_phone("1234567890123456"));
    }
}
