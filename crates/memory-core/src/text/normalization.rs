//! The normalisation.

use unicode_normalization::UnicodeNormalization;

use super::simplification;

/// The version of [`normalize`]. Hashes and indexes are valid for one version only. Builds with and without the feature
/// `chinese` have different versions.
pub const NORMALIZER: &str = simplification::NORMALIZER;

/// True if [`normalize`] converts traditional Chinese characters to simplified ones, as with the feature `chinese`.
pub const FOLDS_TRADITIONAL: bool = cfg!(feature = "chinese");

/// Normalises text: NFKC, which also makes full-width letters and digits half-width, and lower case. With the feature
/// `chinese`, traditional Chinese characters are converted to simplified ones.
///
/// ```
/// use memory_engine_core::text::normalize;
///
/// assert_eq!(normalize("ＭＵ７４７"), "mu747");
/// # #[cfg(feature = "chinese")]
/// assert_eq!(normalize("飛往臺北"), "飞往台北"); // with the feature `chinese`
/// ```
pub fn normalize(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    simplification::simplify(fold_each(text).unwrap_or_else(|| fold_unicode(text)))
}

/// Returns the text in NFKC and lower case.
fn fold_unicode(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

/// As [`fold_unicode`], for a text of ASCII, Han characters and their punctuation, as most Chinese texts are. Each of
/// these characters is folded by itself, which takes less than a tenth of the time. `None` for other texts.
fn fold_each(text: &str) -> Option<String> {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        folded.push(match c {
            '\0'..='\x7f' => c.to_ascii_lowercase(),
            '\u{3001}'..='\u{3020}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => c,
            // Dashes and quotation marks.
            '\u{2013}' | '\u{2014}' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => c,
            '\u{3000}' => ' ',
            // Full-width ASCII.
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0)?.to_ascii_lowercase(),
            _ => return None,
        });
    }
    Some(folded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_are_folded_by_themselves_are_folded_as_by_unicode() {
        let mut folded = 0;
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            if let Some(each) = fold_each(&text) {
                assert_eq!(each, fold_unicode(&text), "{c:?}");
                folded += 1;
            }
        }
        assert_eq!(folded, 128 + 32 + 6592 + 20_992 + 6 + 1 + 94);
    }

    proptest! {
        #[test]
        fn texts_are_folded_as_by_unicode(text in "[ -~、-〠㐀-䶿一-鿿–—‘’“”　！-～]{0,24}") {
            prop_assert_eq!(fold_each(&text), Some(fold_unicode(&text)));
        }

        #[test]
        fn texts_of_other_characters_are_not_folded_otherwise(text in "[a-zA-Z一-三。Ａ-Ｃ\u{301}\u{3099}がé]{0,12}") {
            if let Some(folded) = fold_each(&text) {
                prop_assert_eq!(folded, fold_unicode(&text));
            }
        }
    }

    #[test]
    fn width_and_case_are_folded() {
        assert_eq!(normalize("ＡＢＣ　１２３"), "abc 123");
        assert_eq!(normalize("Straße İstanbul ﬁne"), "straße i\u{307}stanbul fine");
        assert_eq!(normalize("plain ASCII"), "plain ascii");
    }

    #[test]
    fn normalization_is_idempotent() {
        for text in ["飛往臺北", "ｶﾞｷﾞ", "ÀÉ", "ﷺ", "Ａ后後"] {
            assert_eq!(normalize(&normalize(text)), normalize(text));
        }
    }
}
