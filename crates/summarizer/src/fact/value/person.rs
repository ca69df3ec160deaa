//! Names and birthdays of persons.

use std::ops::RangeInclusive;

use memory_engine_core::text::is_han;
use memory_engine_text::Words;

use super::phrase::{cut, is_deictic, without_particles};
use crate::{
    data::{DataPattern, data},
    text::{has_han, is_capitalised},
};

/// Maximum number of words of a name.
const NAME_MAX_WORDS: usize = 3;

/// Plausible years of birth.
const BIRTH_YEARS: std::ops::Range<u32> = 1900..2100;

data! {
    DATA = "en/people.toml", "zh/people.toml";
    DataPattern: name_stop, zh_name_stop;
    Words: zh_name_tails, months;
}

/// Returns true if no English name begins with this word.
pub(super) fn begins_no_name(word: &str) -> bool {
    DATA.name_stop.is_match(word)
}

/// Returns a name by which a person wants to be called.
pub(super) fn name(text: &str) -> Option<String> {
    if text.chars().next().is_some_and(is_han) { zh_name(text, 1..=6) } else { en_name(text, false) }
}

/// Returns the name of a person; in English its words are capitalised.
pub(super) fn full_name(text: &str) -> Option<String> {
    if text.chars().next().is_some_and(is_han) { zh_name(text, 2..=4) } else { en_name(text, true) }
}

pub(super) fn person(text: &str) -> Option<String> {
    if has_han(text) {
        let bare = without_particles(text);
        let fits = (2..=4).contains(&bare.chars().count()) && !DATA.zh_name_stop.is_match(bare);
        return fits.then(|| bare.to_owned());
    }
    full_name(cut(text)).filter(|name| name.chars().count() > 1)
}

/// Returns a Chinese name whose length, in characters, is within `lengths`.
fn zh_name(text: &str, lengths: RangeInclusive<usize>) -> Option<String> {
    let mut bare = text.trim();
    while let Some(rest) = DATA.zh_name_tails.strip_end(bare) {
        bare = rest;
    }
    let fits = lengths.contains(&bare.chars().count()) && bare.chars().all(|c| c.is_alphanumeric() || c == '·');
    (fits && !DATA.zh_name_stop.is_match(bare)).then(|| bare.to_owned())
}

/// Returns the English name that a text begins with. If `strict`, it must have at least two characters and begin with
/// a capital.
fn en_name(text: &str, strict: bool) -> Option<String> {
    let words = name_words(text, strict);
    // A word in lower case is a name only if it is the whole phrase.
    let is_name = words.first().is_some_and(|first| is_capitalised(first)) || cut(text).split_whitespace().count() == 1;
    let name = words.join(" ").trim_end_matches(is_han).to_owned();
    let min_chars = if strict { 2 } else { 1 };
    (is_name && !name.is_empty() && name.chars().count() >= min_chars).then_some(name)
}

/// Returns the words of the name that a text begins with.
fn name_words(text: &str, strict: bool) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let plain = word.trim_end_matches([',', '，', '\'', '"']);
        let has_letters_only = plain.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-' | '.'));
        let may_be_lower_case = words.is_empty() && !strict;
        if begins_no_name(plain) || !(is_capitalised(plain) || may_be_lower_case) || !has_letters_only {
            break;
        }
        words.push(plain);
        if plain.len() < word.len() || !is_capitalised(plain) || words.len() == NAME_MAX_WORDS {
            break;
        }
    }
    words
}

/// Returns a birthday.
pub(super) fn date(text: &str) -> Option<String> {
    if has_han(text) { zh_date(text) } else { en_date(text) }
}

fn zh_date(text: &str) -> Option<String> {
    let bare = without_particles(text).trim_end_matches("出生").trim_end_matches('生');
    let has_number = bare.chars().any(|c| c.is_ascii_digit() || "一二三四五六七八九十正腊".contains(c));
    let fits = bare.chars().count() <= 12 && bare.contains(['月', '年']) && has_number;
    (fits && !is_deictic(bare)).then(|| bare.to_owned())
}

fn en_date(text: &str) -> Option<String> {
    let bare = cut(text).trim_start_matches("on ").trim_start_matches("in ");
    let is_day = DATA.months.any_in(&bare.to_lowercase())
        && bare.chars().any(|c| c.is_ascii_digit())
        && bare.split_whitespace().count() <= 5;
    let is_year = bare.len() == 4 && bare.parse().is_ok_and(|year| BIRTH_YEARS.contains(&year));
    let is_month = DATA.months.contains(&bare.to_lowercase());
    (is_day || is_year || is_month).then(|| bare.to_owned())
}
