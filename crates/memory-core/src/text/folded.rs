//! Normalised characters with their places in the original text.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::normalization::normalize;

/// A character of a normalised text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedCharacter {
    /// The character.
    pub character: char,
    /// The bytes of the original text that it stands for. Characters of one ligature or accented letter share them.
    pub range: Range<usize>,
}

/// Normalises a text as [`normalize`](super::normalize) does, but each letter with its accents by itself, so that every
/// character has a place in the original. Phrases of traditional characters are converted character by character.
///
/// ```
/// use memory_engine_core::text::fold_characters;
///
/// let folded = fold_characters("电话：１３");
/// assert_eq!(folded.iter().map(|folded| folded.character).collect::<String>(), "电话:13");
/// assert_eq!(&"电话：１３"[folded[3].range.start..folded[4].range.end], "１３");
/// ```
pub fn fold_characters(text: &str) -> Vec<FoldedCharacter> {
    let mut folded = Vec::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    while let Some((start, first)) = characters.next() {
        let mut end = start + first.len_utf8();
        while let Some((mark_start, mark)) = characters.next_if(|(_, c)| !c.is_ascii() && is_combining_mark(*c)) {
            end = mark_start + mark.len_utf8();
        }
        let normalized = normalize(&text[start..end]);
        folded.extend(normalized.chars().map(|character| FoldedCharacter { character, range: start..end }));
    }
    folded
}

/// Returns true for a character that may separate the groups of a number or code, as in `138-1234 5678`.
pub fn is_identifier_separator(character: char) -> bool {
    matches!(character, ' ' | '-' | '.' | '·' | '_' | '/' | '(' | ')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_keep_their_places() {
        let text = "Ｅ\u{301}té ﬁn 臺北";
        let folded = fold_characters(text);
        let normalized: String = folded.iter().map(|folded| folded.character).collect();
        assert_eq!(normalized, normalize(text));
        assert_eq!(folded[0].range, 0..5, "the letter with its accent");
        assert!(folded.iter().any(|folded| &text[folded.range.clone()] == "ﬁ" && folded.character == 'i'));
        assert_eq!(folded.last().map(|folded| folded.range.end), Some(text.len()));
    }
}
