//! Lists of words and phrases that are matched against texts.

use crate::text::{self, is_han};

/// A list of words and phrases that is matched against texts, at word boundaries.
///
/// Texts and phrases are normalised ([`text::normalize`]). If a phrase begins or ends with a letter or digit of a
/// script with spaces between words, it matches only at a word boundary: `test` is not found in "latest", and `RP` not
/// in "sharp", but `MCP` is found in "测试MCP工具". Chinese, Japanese and Korean phrases are found anywhere. A space in a
/// phrase matches any white space.
///
/// ```
/// use memory_engine_core::Phrases;
///
/// let phrases = Phrases::new(["test", "角色扮演"]);
/// assert_eq!(phrases.find("Ｔｅｓｔ！"), Some("test"));
/// assert_eq!(phrases.find("the latest news"), None);
/// assert_eq!(phrases.find("我們來角色扮演吧"), Some("角色扮演"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phrases {
    /// The phrases, each as given and in folded form. The folded form is not empty.
    list: Vec<(String, String)>,
}

impl Phrases {
    /// Creates a list. Empty and blank phrases are dropped.
    pub fn new<P: Into<String>>(phrases: impl IntoIterator<Item = P>) -> Self {
        let fold = |phrase: P| {
            let phrase = phrase.into();
            let folded = fold(&phrase);
            (phrase, folded)
        };
        Self { list: phrases.into_iter().map(fold).filter(|(_, folded)| !folded.is_empty()).collect() }
    }

    /// Returns the first phrase of the list that the text contains, as it was given.
    pub fn find(&self, text: &str) -> Option<&str> {
        self.find_folded(&fold(text))
    }

    /// As [`find`](Self::find), for a text in folded form ([`fold`]), so that it is folded once for several lists.
    pub fn find_folded(&self, folded: &str) -> Option<&str> {
        self.list.iter().find(|(_, phrase)| contains_phrase(folded, phrase)).map(|(given, _)| given.as_str())
    }

    /// Returns true if there are no phrases.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Folds a text for [`Phrases::find_folded`]: normalises it, replaces each run of white space by one space, and removes
/// white space at both ends.
pub fn fold(text: &str) -> String {
    let normalized = text::normalize(text);
    let mut folded = String::with_capacity(normalized.len());
    for word in normalized.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

fn contains_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, found)| stands_alone(text, start, start + found.len()))
}

/// Returns true if the part of a normalised text from byte `start` to byte `end` is not inside a longer word. Returns
/// false for offsets that are not boundaries of characters.
pub fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(part), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return false;
    };
    !is_within_word(before.chars().next_back(), part.chars().next())
        && !is_within_word(part.chars().next_back(), after.chars().next())
}

/// Returns true if two neighbouring characters belong to one word.
fn is_within_word(left: Option<char>, right: Option<char>) -> bool {
    left.is_some_and(is_spaced_script) && right.is_some_and(is_spaced_script)
}

/// Returns true for letters and digits of scripts with spaces between words, and for `_`, which joins words in
/// identifiers.
fn is_spaced_script(c: char) -> bool {
    let is_unspaced = matches!(u32::from(c), 0x0e00..=0x0eff | 0x3041..=0x31ff | 0xac00..=0xd7af);
    c == '_' || (c.is_alphanumeric() && !is_han(c) && !is_unspaced)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn latin_phrases_match_whole_words_and_chinese_ones_anywhere() {
        let phrases = Phrases::new(["RP", "来玩", "role  play"]);
        for (text, found) in [
            ("let's rp!", Some("RP")),
            ("RP吗", Some("RP")),
            ("a sharp turn, in my_rp", None),
            ("快来玩吧", Some("来玩")),
            ("Role\nPlay time", Some("role  play")),
            ("role playing", None),
        ] {
            assert_eq!(phrases.find(text), found, "{text}");
        }
    }

    #[test]
    fn a_match_inside_a_word_does_not_hide_a_later_one() {
        assert!(Phrases::new(["test"]).find("the latest test").is_some());
    }

    #[test]
    fn blank_phrases_are_never_found() {
        let phrases = Phrases::new(["", "  "]);
        assert!(phrases.is_empty());
        assert_eq!(phrases.find("anything"), None);
    }

    proptest! {
        #[test]
        fn a_phrase_is_found_between_spaces(
            phrase in "[a-zA-Z0-9ａ-ｚ]{1,5}( [a-z]{1,3})?",
            before in "\\PC{0,12}",
            after in "\\PC{0,12}",
        ) {
            let text = format!("{before} {phrase} {after}");
            let phrases = Phrases::new([phrase]);
            prop_assert!(phrases.find(&text).is_some());
        }
    }
}
