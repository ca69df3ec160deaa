//! Phrases of words with alternatives, for languages that separate words by blanks.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

/// A token that no phrase contains. It takes the place of words that were cut out.
const GAP: &str = "\u{0}";

/// Phrases such as `do you {still |}remember`, found as sequences of words.
#[derive(Debug)]
pub(crate) struct PhrasePatterns {
    /// The phrases by their first word.
    by_first: HashMap<String, Vec<Vec<String>>>,
    /// Words that may stand between two words of a phrase.
    fillers: BTreeSet<String>,
}

impl PhrasePatterns {
    /// Compiles phrases with alternatives in braces.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>, fillers: &BTreeSet<String>) -> Self {
        let mut by_first: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for phrase in patterns.into_iter().flat_map(expanded) {
            let words = tokens(&phrase);
            if let Some(first) = words.first() {
                by_first.entry(first.clone()).or_default().push(words);
            }
        }
        // The longest match is reported and cut out.
        for phrases in by_first.values_mut() {
            phrases.sort_by_key(|words| std::cmp::Reverse(words.len()));
        }
        Self { by_first, fillers: fillers.clone() }
    }

    /// Returns the first phrase in the text.
    pub(crate) fn find(&self, text: &[String]) -> Option<String> {
        (0..text.len()).find_map(|start| self.find_at(text, start)).map(|(words, _)| words.join(" "))
    }

    /// Returns the text with a gap in place of each phrase.
    pub(crate) fn cut_out<'t>(&self, text: &'t [String]) -> Cow<'t, [String]> {
        let mut rest = Cow::Borrowed(text);
        let mut start = 0;
        while start < rest.len() {
            match self.find_at(&rest, start).map(|(_, end)| end) {
                Some(end) => rest.to_mut()[start..end].fill(GAP.to_owned()),
                None => start += 1,
            }
        }
        rest
    }

    /// Returns the longest phrase that begins at `start`, and the end of its match.
    fn find_at(&self, text: &[String], start: usize) -> Option<(&[String], usize)> {
        let phrases = self.by_first.get(text.get(start)?)?;
        phrases.iter().find_map(|phrase| Some((phrase.as_slice(), self.match_end(text, start, phrase)?)))
    }

    fn match_end(&self, text: &[String], start: usize, phrase: &[String]) -> Option<usize> {
        let mut at = start;
        for word in phrase {
            while at > start && text.get(at)? != word && self.fillers.contains(&text[at]) {
                at += 1;
            }
            if text.get(at)? != word {
                return None;
            }
            at += 1;
        }
        Some(at)
    }
}

/// Splits a folded text into words and punctuation marks. Apostrophes are left out: "what's" and "whats" are one word.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars().filter(|c| !matches!(c, '\'' | '’' | '‘' | '`')) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        // A hyphen separates words as a blank does.
        if !c.is_whitespace() && !matches!(c, '-' | '_') {
            tokens.push(c.to_string());
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

/// Expands `{a|b} c` to `a c` and `b c`. Braces do not nest.
fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let tails = expanded(after);
    choices.split('|').flat_map(|choice| tails.iter().map(move |tail| format!("{before}{choice}{tail}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> PhrasePatterns {
        PhrasePatterns::new(patterns.iter().copied(), &BTreeSet::from(["still".to_owned()]))
    }

    #[test]
    fn alternatives_are_expanded() {
        assert_eq!(expanded("{a|b} c{d|}"), ["a cd", "a c", "b cd", "b c"]);
        assert_eq!(expanded("open {brace"), ["open {brace"]);
    }

    #[test]
    fn a_phrase_is_a_sequence_of_whole_words_and_fillers_may_stand_within() {
        let found = |text: &str| patterns(&["do{n't|} you remember", "remember ?"]).find(&tokens(text));
        assert_eq!(found("and don’t you still remember me").as_deref(), Some("dont you remember"));
        assert_eq!(found("tuesday, remember?").as_deref(), Some("remember ?"));
        for text in ["do you. remember", "still remember", "undo you remember", "do you now remember", "do", ""] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_cut_out_is_not_found() {
        let except = patterns(&["told you so"]);
        let text = tokens("i told you so, but i told you about it");
        assert_eq!(except.cut_out(&text)[..5], ["i", GAP, GAP, GAP, ","]);
        let found = patterns(&["told you"]).find(&except.cut_out(&text));
        assert_eq!(found.as_deref(), Some("told you"));
        assert_eq!(patterns(&["told you"]).find(&except.cut_out(&tokens("i told you so"))), None);
    }
}
