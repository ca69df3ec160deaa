//! Numbers in digits and in words.

use memory_engine_text::Words;

use crate::data::data;

/// Plausible ages, in years.
const AGES: std::ops::RangeInclusive<u32> = 1..=120;

const ZH_DIGITS: &str = "零一二三四五六七八九";

data! {
    DATA = "en/numbers.toml";
    Words: ones, tens;
}

/// Returns an age in digits or words as digits.
pub(super) fn number(text: &str) -> Option<String> {
    let value = text.parse().ok().or_else(|| number_in_words(text))?;
    AGES.contains(&value).then(|| value.to_string())
}

/// Returns the value of a number below 1000 in English or Chinese words.
fn number_in_words(text: &str) -> Option<u32> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(['-', ' ']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [word] => below_twenty(word).or_else(|| tens(word)).or_else(|| chinese_number(word)),
        [first, second] => Some(tens(first)? + below_twenty(second).filter(|n| (1..10).contains(n))?),
        _ => None,
    }
}

fn below_twenty(word: &str) -> Option<u32> {
    u32::try_from(DATA.ones.position(word)?).ok()
}

fn tens(word: &str) -> Option<u32> {
    u32::try_from(DATA.tens.position(word)? * 10 + 20).ok()
}

fn chinese_number(text: &str) -> Option<u32> {
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
