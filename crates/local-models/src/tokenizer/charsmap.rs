//! SentencePiece's compiled normalisation map: a double-array trie over UTF-8 bytes.
//!
//! Layout: u32 length of the trie in bytes, the trie's u32 units, then the replacements, each
//! ending in a zero byte. Units are those of the Darts-clone library: bits 0..8 the label, bit 8
//! set if a value follows, bit 9 set if the offset is shifted, bits 10.. the offset.
//!
//! The longest match at each position wins, as in SentencePiece. The hub tokenizer uses the
//! shortest match of whole graphemes, which loses all but the first of several marks on a letter.

use crate::error::ModelError;

/// A map from strings to strings.
#[derive(Debug)]
pub(crate) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// Reads a map.
    ///
    /// # Errors
    /// `Corrupt` if a length is wrong or the replacements are not UTF-8.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, ModelError> {
        let damaged = || {
            ModelError::corrupt("the normalisation map is damaged: a length is wrong, or a replacement is not UTF-8")
        };
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (trie, replacements) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let (units, remainder) = trie.as_chunks::<4>();
        if !remainder.is_empty() {
            return Err(damaged());
        }
        let units = units.iter().map(|&unit| u32::from_le_bytes(unit)).collect();
        let replacements = String::from_utf8(replacements.to_vec()).map_err(|_| damaged())?;
        Ok(Self { units, replacements })
    }

    /// Appends the normalised text to `out`.
    pub(crate) fn apply(&self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match self.longest_match(rest) {
                Some((length, replacement)) => {
                    out.push_str(replacement);
                    length
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            rest = &rest[length..];
        }
    }

    /// Returns the length of the longest prefix of the text in the map, and its replacement.
    fn longest_match(&self, text: &str) -> Option<(usize, &str)> {
        let mut node = offset(*self.units.first()?);
        let mut found = None;
        for (index, &byte) in text.as_bytes().iter().enumerate() {
            node ^= byte as usize;
            // A zero byte is the label of values and never part of a key.
            let Some(&unit) = self.units.get(node).filter(|_| byte != 0) else {
                break;
            };
            if unit & 0x8000_00FF != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let value = self.units.get(node).map(|unit| unit & 0x7FFF_FFFF);
                found = value.map(|value| (index + 1, value as usize)).or(found);
            }
        }
        let (length, start) = found.filter(|&(length, _)| text.is_char_boundary(length))?;
        let replacement = self.replacements.get(start..)?;
        Some((length, replacement.split('\0').next().unwrap_or_default()))
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

/// Decodes base64 (RFC 4648, standard alphabet, padding optional).
///
/// # Errors
/// `Corrupt` for any other character.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, ModelError> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(ModelError::corrupt("the normalisation map is not valid base64")),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_with_and_without_padding() {
        assert_eq!(decode_base64("TWFueQ==").ok(), Some(b"Many".to_vec()));
        assert_eq!(decode_base64("TWFueQ").ok(), Some(b"Many".to_vec()));
        assert_eq!(decode_base64("//+A").ok(), Some(vec![0xFF, 0xFF, 0x80]));
        assert!(decode_base64("a b").is_err());
    }

    #[test]
    fn a_damaged_map_is_an_error_or_does_nothing() {
        assert!(Charsmap::new(&[]).is_err());
        assert!(Charsmap::new(&[8, 0, 0, 0, 1, 2]).is_err());
        for seed in 0..200u32 {
            let trie: Vec<u8> =
                (0..64u32).flat_map(|n| n.wrapping_mul(seed.wrapping_mul(2_654_435_761) | 1).to_le_bytes()).collect();
            let mut bytes = (trie.len() as u32).to_le_bytes().to_vec();
            bytes.extend(trie);
            bytes.extend(b"abc\0d\0");
            let map = Charsmap::new(&bytes).expect("the lengths fit");
            let mut out = String::new();
            map.apply("some text, 中文 and \u{1F600}", &mut out);
        }
    }
}
