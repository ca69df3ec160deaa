//! Phrases of words with alternatives, for languages that separate words by spaces.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use memory_engine_text::alternatives;

/// A token that no phrase contains. It replaces words that were cut out.
const GAP: &str = "\u{0}";

/// A word or a punctuation mark of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhraseToken {
    pub(crate) text: String,
    /// Its byte range in the text.
    pub(crate) range: Range<usize>,
}

/// Phrases such as `do you (still |)remember`, found as sequences of words.
#[derive(Debug)]
pub(crate) struct PhrasePatterns {
    /// The phrases by their first word.
    by_first: BTreeMap<String, Vec<Vec<String>>>,
    /// Words that may stand between two words of a phrase.
    fillers: BTreeSet<String>,
}

impl PhrasePatterns {
    /// Compiles phrases with alternatives in parentheses.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>, fillers: &BTreeSet<String>) -> Self {
        let mut by_first: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for phrase in patterns.into_iter().flat_map(alternatives) {
            let words: Vec<String> = tokens(&phrase).into_iter().map(|token| token.text).collect();
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

    /// Returns the first phrase in the text, and its byte range.
    pub(crate) fn find(&self, text: &[PhraseToken]) -> Option<(String, Range<usize>)> {
        (0..text.len()).find_map(|start| {
            let (words, end) = self.find_at(text, start)?;
            Some((words.join(" "), text[start].range.start..text[end - 1].range.end))
        })
    }

    /// Returns the text with a gap in place of each phrase.
    pub(crate) fn cut_out<'t>(&self, text: &'t [PhraseToken]) -> Cow<'t, [PhraseToken]> {
        let mut rest = Cow::Borrowed(text);
        let mut start = 0;
        while start < rest.len() {
            match self.find_at(&rest, start).map(|(_, end)| end) {
                Some(end) => rest.to_mut()[start..end].iter_mut().for_each(|token| token.text = GAP.to_owned()),
                None => start += 1,
            }
        }
        rest
    }

    /// Returns the longest phrase that begins at `start`, and the end of its match.
    pub(crate) fn find_at(&self, text: &[PhraseToken], start: usize) -> Option<(&[String], usize)> {
        let phrases = self.by_first.get(&text.get(start)?.text)?;
        phrases.iter().find_map(|phrase| Some((phrase.as_slice(), self.match_end(text, start, phrase)?)))
    }

    fn match_end(&self, text: &[PhraseToken], start: usize, phrase: &[String]) -> Option<usize> {
        let mut index = start;
        for word in phrase {
            while index > start && text.get(index)?.text != *word && self.fillers.contains(&text[index].text) {
                index += 1;
            }
            if text.get(index)?.text != *word {
                return None;
            }
            index += 1;
        }
        Some(index)
    }
}

/// Splits a folded text into words and punctuation marks. Apostrophes are left out: "what's" and "whats" are one word.
pub(crate) fn tokens(text: &str) -> Vec<PhraseToken> {
    let mut tokens: Vec<PhraseToken> = Vec::new();
    let mut word: Option<PhraseToken> = None;
    for (start, c) in text.char_indices() {
        let end = start + c.len_utf8();
        if c.is_alphanumeric() {
            let word = word.get_or_insert_with(|| PhraseToken { text: String::new(), range: start..start });
            word.text.push(c);
            word.range.end = end;
        } else if !matches!(c, '\'' | '’' | '‘' | '`') {
            tokens.extend(word.take());
            // A hyphen separates words as a space does.
            if !c.is_whitespace() && !matches!(c, '-' | '_') {
                tokens.push(PhraseToken { text: c.to_string(), range: start..end });
            }
        }
    }
    tokens.extend(word);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> PhrasePatterns {
        PhrasePatterns::new(patterns.iter().copied(), &BTreeSet::from(["still".to_owned()]))
    }

    #[test]
    fn phrases_match_whole_words_and_fillers() {
        let found = |text: &str| {
            patterns(&["do(n't|) you remember", "remember ?"]).find(&tokens(text)).map(|(phrase, _)| phrase)
        };
        assert_eq!(found("and don’t you still remember me").as_deref(), Some("dont you remember"));
        assert_eq!(found("tuesday, remember?").as_deref(), Some("remember ?"));
        for text in ["do you. remember", "still remember", "undo you remember", "do you now remember", "do", ""] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn cut_out_phrases_are_not_found() {
        let except = patterns(&["told you so"]);
        let text = tokens("i told you so, but i told you about it");
        let words: Vec<String> = except.cut_out(&text).iter().take(5).map(|token| token.text.clone()).collect();
        assert_eq!(words, ["i", GAP, GAP, GAP, ","]);
        let found = patterns(&["told you"]).find(&except.cut_out(&text));
        assert_eq!(found, Some(("told you".to_owned(), 21..29)), "the second one");
        assert_eq!(patterns(&["told you"]).find(&except.cut_out(&tokens("i told you so"))), None);
    }
}
