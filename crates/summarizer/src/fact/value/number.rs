//! Numbers in digits and in words.

use crate::data::{WordList, data};

/// Plausible ages, in years.
const AGES: std::ops::RangeInclusive<u32> = 1..=120;

const ZH_DIGITS: &str = "零一二三四五六七八九";

data! {
    DATA = "en/numbers.toml";
    WordList: ones, tens;
}

/// Returns an age in digits or words as digits.
pub(super) fn number(text: &str) -> Option<String> {
    let value = text.parse().ok().or_else(|| spelled(text))?;
    AGES.contains(&value).then(|| value.to_string())
}

/// Returns a number below 1000 in words of either language.
fn spelled(text: &str) -> Option<u32> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(['-', ' ']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [word] => one(word).or_else(|| ten(word)).or_else(|| chinese(word)),
        [tens, ones] => Some(ten(tens)? + one(ones).filter(|n| (1..10).contains(n))?),
        _ => None,
    }
}

fn one(word: &str) -> Option<u32> {
    u32::try_from(DATA.ones.position(word)?).ok()
}

fn ten(word: &str) -> Option<u32> {
    u32::try_from(DATA.tens.position(word)? * 10 + 20).ok()
}

fn chinese(text: &str) -> Option<u32> {
    let mut total = 0;
    let mut digit = None;
    for c in text.chars() {
        match c {
            '百' => total += digit.take().unwrap_or(1) * 100,
            '十' => total += digit.take().unwrap_or(1) * 10,
            '两' => digit = Some(2),
            _ => digit = Some(u32::try_from(ZH_DIGITS.chars().position(|known| known == c)?).ok()?),
        }
    }
    (!text.is_empty()).then(|| total + digit.unwrap_or(0))
}
