//! Converts traditional characters to simplified ones, by the dictionaries of OpenCC.

use std::{cmp::Reverse, collections::BTreeMap, sync::LazyLock};

use super::script::is_han;

/// See [`NORMALIZER`](super::NORMALIZER).
pub(super) const NORMALIZER: &str = "nfkc-lower-t2s-1";

const CHARACTERS: &str = include_str!("../../data/opencc/TSCharacters.txt");
const PHRASES: &str = include_str!("../../data/opencc/TSPhrases.txt");

static CONVERTER: LazyLock<Converter> = LazyLock::new(|| Converter::new(CHARACTERS, PHRASES));

/// Returns the keys of a dictionary with the first of their values. A line has a key, a tab, and values separated by
/// spaces; a line that starts with `#` is a comment.
fn entries(dictionary: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = dictionary.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let (key, values) = line.split_once('\t')?;
        Some((key, values.split(' ').next()?))
    })
}

/// Replaces the longest key at each position of a text, as OpenCC does.
struct Converter {
    /// The replacements by their first character.
    replacements: BTreeMap<char, Replacements>,
    /// A bit for each character from [`HAN_FIRST`] to [`HAN_LAST`]: 1 if the conversion of this single character
    /// changes it. Most texts have no such character and are not converted. A phrase of other characters alone (回覆)
    /// therefore stays as it is.
    traditional: Vec<u64>,
}

#[derive(Default)]
struct Replacements {
    /// The simplified form of the character.
    simplified: Option<char>,
    /// The phrases that start with the character and their conversions, longest first.
    phrases: Vec<(&'static str, &'static str)>,
}

const HAN_FIRST: u32 = 0x3400;
const HAN_LAST: u32 = 0x9fff;

impl Converter {
    fn new(characters: &'static str, phrases: &'static str) -> Self {
        let mut replacements: BTreeMap<char, Replacements> = BTreeMap::new();
        let mut traditional = vec![0_u64; (HAN_LAST - HAN_FIRST) as usize / 64 + 1];
        for (key, value) in entries(characters) {
            let (Some(character), Some(simplified)) = (key.chars().next(), value.chars().next()) else { continue };
            replacements.entry(character).or_default().simplified = Some(simplified);
            let code = u32::from(character);
            if character != simplified && (HAN_FIRST..=HAN_LAST).contains(&code) {
                let index = (code - HAN_FIRST) as usize;
                traditional[index / 64] |= 1 << (index % 64);
            }
        }
        for (key, value) in entries(phrases) {
            let Some(first) = key.chars().next() else { continue };
            replacements.entry(first).or_default().phrases.push((key, value));
        }
        for replacement in replacements.values_mut() {
            replacement.phrases.sort_by_key(|(key, _)| Reverse(key.len()));
        }
        Self { replacements, traditional }
    }

    /// Returns true if a text must be converted because of this character. True for Han characters above U+9FFF.
    fn may_be_traditional(&self, c: char) -> bool {
        let code = u32::from(c);
        match code.checked_sub(HAN_FIRST) {
            Some(index) if code <= HAN_LAST => self.traditional[index as usize / 64] >> (index % 64) & 1 == 1,
            _ => is_han(c) && code > HAN_LAST,
        }
    }

    fn convert(&self, text: &str) -> String {
        let mut converted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let replacements = self.replacements.get(&character);
            let phrase = replacements.and_then(|r| r.phrases.iter().find(|(key, _)| rest.starts_with(key)));
            if let Some((key, value)) = phrase {
                converted.push_str(value);
                rest = &rest[key.len()..];
            } else {
                let simplified = replacements.and_then(|r| r.simplified);
                converted.push(simplified.unwrap_or(character));
                rest = &rest[character.len_utf8()..];
            }
        }
        converted
    }
}

/// Converts the traditional phrases and characters of a text.
pub(super) fn simplify(folded: String) -> String {
    let converter = &*CONVERTER;
    if folded.chars().any(|c| converter.may_be_traditional(c)) { converter.convert(&folded) } else { folded }
}

#[cfg(test)]
mod tests;
