//! Normalisation of text before it is hashed, compared or indexed.

mod script;
#[cfg(feature = "chinese")]
mod simplification;
#[cfg(not(feature = "chinese"))]
#[path = "text/no_simplification.rs"]
mod simplification;

use unicode_normalization::UnicodeNormalization;

pub use script::is_han;

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
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    simplification::simplify(folded)
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
    fn normalization_is_idempotent() {
        for text in ["飛往臺北", "ｶﾞｷﾞ", "ÀÉ", "ﷺ", "Ａ后後"] {
            assert_eq!(normalize(&normalize(text)), normalize(text));
        }
    }
}
