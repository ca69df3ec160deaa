//! Characters that stand for the names in a sentence.

/// The class of the characters that stand for names.
pub(super) const MARK_PATTERN: &str = r"[\x{E000}-\x{F8FF}]";
const FIRST_MARK: u32 = 0xE000;
/// Maximum number of entities with a mark.
pub(super) const MAX_MARKS: usize = 0x1900;

/// Returns the index of the entity that a mark stands for.
pub(super) fn index_of(mark: &str) -> Option<usize> {
    let mark = mark.chars().next().filter(|c| is_mark(*c))?;
    usize::try_from(u32::from(mark) - FIRST_MARK).ok()
}

/// Returns true for a character that stands for a name.
pub(super) fn is_mark(c: char) -> bool {
    matches!(u32::from(c), FIRST_MARK..=0xF8FF)
}

/// Returns the mark of an entity, or `None` if there are too many entities.
pub(super) fn mark(index: usize) -> Option<char> {
    u32::try_from(index).ok().and_then(|index| char::from_u32(FIRST_MARK + index))
}
