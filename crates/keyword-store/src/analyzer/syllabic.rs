//! Scripts that are indexed by pairs of characters.

/// Returns true for Japanese kana and Korean syllables, which are written without spaces or with endings attached.
pub(super) fn is_syllabic(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x30ff | 0x31f0..=0x31ff | 0xac00..=0xd7af | 0x1100..=0x11ff)
}
