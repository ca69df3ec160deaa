//! A build without the feature `chinese`: traditional characters are not converted.

/// See [`NORMALIZER`](super::NORMALIZER).
pub(super) const NORMALIZER: &str = "nfkc-lower-1";

/// Returns the text unchanged.
pub(super) fn simplify(folded: String) -> String {
    folded
}

#[cfg(test)]
mod tests {
    use crate::text::normalize;

    #[test]
    fn traditional_characters_are_kept() {
        assert_eq!(normalize("臺灣的後天 ＡＢＣ"), "臺灣的後天 abc");
    }
}
