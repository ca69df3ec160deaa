//! The one way in which text is folded before it is hashed, compared or indexed.

use std::sync::LazyLock;

use ferrous_opencc::{OpenCC, config::BuiltinConfig};
use unicode_normalization::UnicodeNormalization;

/// The version of [`normalize`]: whatever it shaped (hashes, indexes) belongs to this version.
pub const NORMALIZER: &str = "nfkc-lower-t2s-1";

// The dictionaries are compiled in, so that loading them cannot fail; were it to, text stays as it is.
static TO_SIMPLIFIED: LazyLock<Option<OpenCC>> = LazyLock::new(|| OpenCC::from_config(BuiltinConfig::T2s).ok());

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
    match &*TO_SIMPLIFIED {
        Some(converter) if folded.chars().any(is_han) => converter.convert(&folded),
        _ => folded,
    }
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
    fn normalizing_twice_changes_nothing_more() {
        for text in ["飛往臺北", "ｶﾞｷﾞ", "ÀÉ", "ﷺ", "Ａ后後"] {
            assert_eq!(normalize(&normalize(text)), normalize(text));
        }
    }
}
