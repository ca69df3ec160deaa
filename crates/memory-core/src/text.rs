//! The one way in which text is folded before it is hashed, compared or indexed.

mod script;
#[cfg(feature = "chinese")]
mod simplified;
#[cfg(not(feature = "chinese"))]
#[path = "text/as_written.rs"]
mod simplified;

use unicode_normalization::UnicodeNormalization;

pub use script::is_han;

/// The version of [`normalize`]. Hashes and indexes of normalized text belong to this version. It differs between
/// builds with and without the feature `chinese`.
pub const NORMALIZER: &str = simplified::NORMALIZER;

/// True if [`normalize`] turns traditional Chinese characters into simplified ones: with the feature `chinese`.
pub const FOLDS_TRADITIONAL: bool = cfg!(feature = "chinese");

/// Folds text so that texts that read the same are equal: NFKC (which makes full-width letters and digits half-width)
/// and lower case. With the feature `chinese`, traditional Chinese characters become simplified ones, too.
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
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    simplified::simplify(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_and_case_are_folded() {
        assert_eq!(normalize("ＡＢＣ　１２３"), "abc 123");
        assert_eq!(normalize("Straße İstanbul ﬁne"), "straße i\u{307}stanbul fine");
        assert_eq!(normalize("plain ASCII"), "plain ascii");
    }

    #[test]
    fn normalizing_twice_changes_nothing_more() {
        for text in ["飛往臺北", "ｶﾞｷﾞ", "ÀÉ", "ﷺ", "Ａ后後"] {
            assert_eq!(normalize(&normalize(text)), normalize(text));
        }
    }
}
