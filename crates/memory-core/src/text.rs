//! The one way in which text is folded before it is hashed, compared or indexed.

use std::sync::LazyLock;

use ferrous_opencc::{OpenCC, config::BuiltinConfig};
use unicode_normalization::UnicodeNormalization;

/// The version of [`normalize`]: whatever it shaped (hashes, indexes) belongs to this version.
pub const NORMALIZER: &str = "nfkc-lower-t2s-1";

static TO_SIMPLIFIED: LazyLock<OpenCC> = LazyLock::new(|| match OpenCC::from_config(BuiltinConfig::T2s) {
    Ok(converter) => converter,
    #[expect(clippy::panic, reason = "the dictionaries are compiled in, and the tests of this module load them")]
    Err(error) => panic!("the dictionaries of simplified characters cannot be loaded: {error}"),
});

/// The characters that the conversion changes when they stand alone, one bit for each from [`HAN_FIRST`] on. Text without
/// any of them is simplified already, as nearly all text is, and is spared the dictionaries.
static TRADITIONAL: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0_u64; (HAN_LAST - HAN_FIRST) as usize / 64 + 1];
    for code in HAN_FIRST..=HAN_LAST {
        let alone = char::from_u32(code).map(String::from).unwrap_or_default();
        if TO_SIMPLIFIED.convert(&alone) != alone {
            let place = (code - HAN_FIRST) as usize;
            bits[place / 64] |= 1 << (place % 64);
        }
    }
    bits
});
const HAN_FIRST: u32 = 0x3400;
const HAN_LAST: u32 = 0x9fff;

fn may_be_traditional(c: char) -> bool {
    let code = u32::from(c);
    match code.checked_sub(HAN_FIRST) {
        Some(place) if code <= HAN_LAST => TRADITIONAL[place as usize / 64] >> (place % 64) & 1 == 1,
        _ => is_han(c) && code > HAN_LAST,
    }
}

/// Folds text so that what reads the same is the same: NFKC (which makes full-width letters and digits half-width),
/// lower case, traditional → simplified Chinese.
///
/// ```
/// assert_eq!(memory_engine_core::text::normalize("ＭＵ７４７ 飛往臺北"), "mu747 飞往台北");
/// ```
pub fn normalize(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    if folded.chars().any(may_be_traditional) { TO_SIMPLIFIED.convert(&folded) } else { folded }
}

/// Whether a character is a Chinese character.
pub fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x323af)
        || c == '々'
        || c == '〇'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_case_and_script_are_folded() {
        assert_eq!(normalize("ＡＢＣ　１２３"), "abc 123");
        assert_eq!(normalize("Straße İstanbul ﬁne"), "straße i\u{307}stanbul fine");
        assert_eq!(normalize("臺灣的後天"), "台湾的后天");
        assert_eq!(normalize("plain ASCII"), "plain ascii");
    }

    #[test]
    fn text_that_is_spared_the_dictionaries_would_not_have_changed() {
        let converter = &*TO_SIMPLIFIED;
        let phrases =
            ["我对海鲜过敏", "乾坤大挪移", "皇后的后天", "于是着手干了", "著名的云里雾里", "台湾", "吃面条和面粉"];
        for text in phrases.into_iter().filter(|text| !text.chars().any(may_be_traditional)) {
            assert_eq!(converter.convert(text), text);
        }
        assert!("臺灣麵條".chars().all(may_be_traditional) && !"台湾面条".chars().any(may_be_traditional));
    }

    #[test]
    fn normalizing_twice_changes_nothing_more() {
        for text in ["飛往臺北", "ｶﾞｷﾞ", "ÀÉ", "ﷺ", "Ａ后後"] {
            assert_eq!(normalize(&normalize(text)), normalize(text));
        }
    }
}
