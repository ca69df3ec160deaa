//! Chinese characters.

/// Returns true for a Chinese character.
pub fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x323af)
        || c == '々'
        || c == '〇'
}
