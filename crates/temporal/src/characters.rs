//! Characters of dates: folding, numerals and scripts.

use memory_engine_text::data;
use rustc_hash::FxHashMap;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CharacterTable {
    simplified: FxHashMap<char, char>,
    digits: FxHashMap<char, i64>,
}

data!(CHARACTERS: CharacterTable = "zh/characters.toml");

/// Folds a character: lower case, half width, and simplified as far as dates are written with it.
pub(crate) fn fold(c: char) -> char {
    let half = match u32::from(c) {
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
        0x3000 => ' ',
        _ => c,
    };
    let lower = half.to_ascii_lowercase();
    if lower.is_ascii() { lower } else { CHARACTERS.simplified.get(&lower).copied().unwrap_or(lower) }
}

/// Returns the value of a Chinese digit.
pub(crate) fn chinese_digit(c: char) -> Option<i64> {
    if c.is_ascii() { None } else { CHARACTERS.digits.get(&c).copied() }
}

/// Returns the Chinese digits, in no order.
pub(crate) fn chinese_digits() -> impl Iterator<Item = char> {
    CHARACTERS.digits.keys().copied()
}

/// Returns true if a character can be part of a number.
pub(crate) fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || chinese_digit(c).is_some() || matches!(c, '十' | '百' | '千' | '万' | '亿' | '廿')
}

/// Returns true for a letter or digit of a script that separates words by spaces.
pub(crate) fn is_latin(c: char) -> bool {
    u32::from(c) < 0x2e80 && c.is_alphanumeric()
}

/// Returns true for a letter of a script that separates words by spaces.
pub(crate) fn is_letter(c: char) -> bool {
    is_latin(c) && !c.is_numeric()
}
