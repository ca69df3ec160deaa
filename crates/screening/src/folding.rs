//! Full-width letters, digits and marks (`ａ１＃`), which the rules read as ASCII characters.

use std::ops::Range;

/// Distance from an ASCII character to its full-width form.
const WIDE_OFFSET: u32 = 0xFEE0;

/// A text with ASCII characters in place of the full-width ones.
pub(crate) struct FoldedText {
    pub(crate) text: String,
    /// The position in the original text of each byte of `text` and of its end.
    positions: Vec<usize>,
}

impl FoldedText {
    /// Returns the folded text, or `None` if it has no full-width character to fold.
    pub(crate) fn of(text: &str) -> Option<Self> {
        // 0xEF is the first byte of full-width characters in UTF-8, and rare outside of Chinese text.
        if !text.as_bytes().contains(&0xEF) || !text.chars().any(|c| to_ascii(c) != c) {
            return None;
        }
        let mut folded =
            Self { text: String::with_capacity(text.len()), positions: Vec::with_capacity(text.len() + 1) };
        for (position, character) in text.char_indices() {
            folded.text.push(to_ascii(character));
            folded.positions.resize(folded.text.len(), position);
        }
        folded.positions.push(text.len());
        Some(folded)
    }

    /// Returns the range in the original text of a range of the folded text.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        self.positions[range.start]..self.positions[range.end]
    }
}

/// Returns true for a full-width letter or digit.
fn is_wide(character: char) -> bool {
    matches!(character, '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ')
}

/// Returns the ASCII form of a full-width letter, digit or mark. The punctuation of sentences (！，．：；？（）) stays, because
/// the rules know it.
fn to_ascii(character: char) -> char {
    let is_folded = is_wide(character) || "＠＃＄％＆＊＋－＿＝".contains(character);
    if is_folded { char::from_u32(u32::from(character) - WIDE_OFFSET).unwrap_or(character) } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_the_original() {
        assert!(FoldedText::of("密码：abc，").is_none());
        assert_eq!(FoldedText::of("password＝hunter2").unwrap().text, "password=hunter2");
        let folded = FoldedText::of("密码：ａ1＃，").unwrap();
        assert_eq!(folded.text, "密码：a1#，");
        let start = folded.text.find('a').unwrap();
        assert_eq!(&"密码：ａ1＃，"[folded.original(&(start..start + 3))], "ａ1＃");
    }
}
