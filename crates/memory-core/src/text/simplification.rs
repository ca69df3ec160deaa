//! Converts traditional characters to simplified ones.

use std::sync::LazyLock;

use ferrous_opencc::{OpenCC, config::BuiltinConfig};

use super::script::is_han;

/// See [`NORMALIZER`](super::NORMALIZER).
pub(super) const NORMALIZER: &str = "nfkc-lower-t2s-1";

static TO_SIMPLIFIED: LazyLock<OpenCC> = LazyLock::new(|| match OpenCC::from_config(BuiltinConfig::T2s) {
    Ok(converter) => converter,
    #[expect(clippy::panic, reason = "the dictionaries are compiled in, and the tests of this module load them")]
    Err(error) => panic!("the dictionaries of simplified characters cannot be loaded: {error}"),
});

/// A bit for each character from [`HAN_FIRST`] to [`HAN_LAST`]: 1 if the conversion of this single character changes
/// it. Text without such characters, as is usual, skips the dictionaries.
static TRADITIONAL: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0_u64; (HAN_LAST - HAN_FIRST) as usize / 64 + 1];
    for code in HAN_FIRST..=HAN_LAST {
        let character = char::from_u32(code).map(String::from).unwrap_or_default();
        if TO_SIMPLIFIED.convert(&character) != character {
            let index = (code - HAN_FIRST) as usize;
            bits[index / 64] |= 1 << (index % 64);
        }
    }
    bits
});
const HAN_FIRST: u32 = 0x3400;
const HAN_LAST: u32 = 0x9fff;

fn may_be_traditional(c: char) -> bool {
    let code = u32::from(c);
    match code.checked_sub(HAN_FIRST) {
        Some(index) if code <= HAN_LAST => TRADITIONAL[index as usize / 64] >> (index % 64) & 1 == 1,
        _ => is_han(c) && code > HAN_LAST,
    }
}

/// Converts the traditional characters of a text, phrase by phrase.
pub(super) fn simplify(folded: String) -> String {
    if folded.chars().any(may_be_traditional) { TO_SIMPLIFIED.convert(&folded) } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normalize;

    #[test]
    fn traditional_characters_are_converted() {
        assert_eq!(normalize("臺灣的後天"), "台湾的后天");
    }

    #[test]
    fn text_that_skips_the_dictionaries_would_not_have_changed() {
        let converter = &*TO_SIMPLIFIED;
        let phrases =
            ["我对海鲜过敏", "乾坤大挪移", "皇后的后天", "于是着手干了", "著名的云里雾里", "台湾", "吃面条和面粉"];
        for text in phrases.into_iter().filter(|text| !text.chars().any(may_be_traditional)) {
            assert_eq!(converter.convert(text), text);
        }
        assert!("臺灣麵條".chars().all(may_be_traditional) && !"台湾面条".chars().any(may_be_traditional));
    }
}
