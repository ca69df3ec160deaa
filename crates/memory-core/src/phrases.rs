//! Lists of words and phrases that a text may hold.

use crate::text::{self, is_han};

/// A list of words and phrases to look for in text, the way people mean such lists.
///
/// Width, case and script are folded ([`text::normalize`]). A phrase that begins or ends with a letter or digit of a
/// script that parts its words by blanks has to stand by itself there: `test` is not in "latest", `RP` not in "sharp",
/// but `MCP` is in "测试MCP工具". Chinese, Japanese and Korean phrases are found anywhere. Blanks in a phrase stand for any
/// white space.
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
    /// Each as it was given, and folded; never empty.
    list: Vec<(String, String)>,
}

impl Phrases {
    /// A list of these; what is empty or blank is left out.
    pub fn new<P: Into<String>>(phrases: impl IntoIterator<Item = P>) -> Self {
        let fold = |phrase: P| {
            let phrase = phrase.into();
            let folded = fold(&phrase);
            (phrase, folded)
        };
        Self { list: phrases.into_iter().map(fold).filter(|(_, folded)| !folded.is_empty()).collect() }
    }

    /// The first phrase of the list that the text holds, as it was given.
    pub fn find(&self, text: &str) -> Option<&str> {
        self.find_folded(&fold(text))
    }

    /// As [`find`](Self::find), for a text that [`fold`] was applied to, so that several lists can be searched in it.
    pub fn find_folded(&self, folded: &str) -> Option<&str> {
        self.list.iter().find(|(_, phrase)| holds(folded, phrase)).map(|(given, _)| given.as_str())
    }

    /// Returns true if there are no phrases.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Folds a text for [`Phrases::find_folded`]: normalised, with one blank for every run of white space and none around.
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

fn holds(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, found)| stands_alone(text, start, start + found.len()))
}

/// Returns true if the part of a normalised text from byte `start` to byte `end` is not inside a longer word. Returns
/// false for offsets that are not boundaries of characters.
pub fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(part), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return false;
    };
    let grown = |left: Option<char>, right: Option<char>| left.is_some_and(is_spaced) && right.is_some_and(is_spaced);
    !grown(before.chars().next_back(), part.chars().next()) && !grown(part.chars().next_back(), after.chars().next())
}

/// A letter or digit of a script that parts its words by blanks; `_` joins words as programs write them.
fn is_spaced(c: char) -> bool {
    let syllabic = matches!(u32::from(c), 0x0e00..=0x0eff | 0x3041..=0x31ff | 0xac00..=0xd7af);
    c == '_' || (c.is_alphanumeric() && !is_han(c) && !syllabic)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_latin_phrase_stands_by_itself_and_a_chinese_one_anywhere() {
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
    fn a_later_place_counts_where_the_first_is_inside_a_word() {
        assert!(Phrases::new(["test"]).find("the latest test").is_some());
    }

    #[test]
    fn blank_phrases_are_found_nowhere() {
        let phrases = Phrases::new(["", "  "]);
        assert!(phrases.is_empty());
        assert_eq!(phrases.find("anything"), None);
    }

    proptest! {
        #[test]
        fn a_phrase_is_found_between_blanks(phrase in "[a-zA-Z0-9ａ-ｚ]{1,5}( [a-z]{1,3})?", before in "\\PC{0,12}", after in "\\PC{0,12}") {
            let text = format!("{before} {phrase} {after}");
            let phrases = Phrases::new([phrase]);
            prop_assert!(phrases.find(&text).is_some());
        }
    }
}
