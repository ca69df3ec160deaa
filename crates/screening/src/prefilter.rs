//! Selects the rules that may match a text, in one pass over it.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::rules::{RULES, Rule};

/// The rules of some categories, with an automaton of their keywords.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// Indexes of the rules, in ascending order.
    rules: Vec<usize>,
    /// `None` if no rule has keywords.
    keywords: Option<AhoCorasick>,
    /// For each keyword, the positions of its rules in `rules`.
    rules_of_keyword: Vec<Vec<usize>>,
    /// Positions in `rules` of the rules without keywords.
    without_keywords: Vec<usize>,
}

impl Prefilter {
    pub(crate) fn new(is_selected: impl Fn(&Rule) -> bool) -> Self {
        let selected = RULES.iter().enumerate().filter(|(_, rule)| is_selected(rule));
        let rules: Vec<usize> = selected.map(|(index, _)| index).collect();
        let mut words: Vec<&str> = Vec::new();
        let mut rules_of_keyword: Vec<Vec<usize>> = Vec::new();
        let mut without_keywords = Vec::new();
        for (position, index) in rules.iter().enumerate() {
            let keywords = RULES[*index].keywords;
            if keywords.is_empty() {
                without_keywords.push(position);
            }
            for keyword in keywords {
                let known = words.iter().position(|word| word == keyword);
                let word = known.unwrap_or_else(|| {
                    words.push(keyword);
                    rules_of_keyword.push(Vec::new());
                    words.len() - 1
                });
                rules_of_keyword[word].push(position);
            }
        }
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        let keywords = if words.is_empty() { None } else { builder.build(&words).ok() };
        Self { rules, keywords, rules_of_keyword, without_keywords }
    }

    /// Returns true if a text contains a keyword.
    pub(crate) fn has_keyword(&self, text: &str) -> bool {
        self.keywords.as_ref().is_some_and(|keywords| keywords.is_match(text))
    }

    /// Returns the rules that may match a text, in ascending order.
    pub(crate) fn candidates(&self, text: &str) -> Vec<&'static Rule> {
        let mut positions = self.without_keywords.clone();
        if let Some(keywords) = &self.keywords {
            for found in keywords.find_overlapping_iter(text) {
                for position in &self.rules_of_keyword[found.pattern().as_usize()] {
                    if !positions.contains(position) {
                        positions.push(*position);
                    }
                }
            }
        }
        if positions.is_empty() {
            return Vec::new();
        }
        positions.sort_unstable();
        let shape = TextShape::of(text);
        let rules = positions.into_iter().map(|position| &RULES[self.rules[position]]);
        rules.filter(|rule| shape.may_match(rule)).collect()
    }
}

/// The longest runs of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct TextShape {
    /// Length of the longest run of ASCII characters that may be part of a key, in bytes.
    longest_token: usize,
    /// Maximum number of digits in a run of digits and separators.
    most_digits: usize,
}

impl TextShape {
    fn of(text: &str) -> Self {
        let mut shape = Self::default();
        let mut token = 0;
        let mut digits = 0;
        for byte in text.bytes() {
            token = if is_token_byte(byte) { token + 1 } else { 0 };
            digits = match byte {
                b'0'..=b'9' => digits + 1,
                b' ' | b'-' | b'.' | b'(' | b')' | b'/' | b'+' => digits,
                _ => 0,
            };
            shape.longest_token = shape.longest_token.max(token);
            shape.most_digits = shape.most_digits.max(digits);
        }
        shape
    }

    const fn may_match(self, rule: &Rule) -> bool {
        self.longest_token >= rule.min_token && self.most_digits >= rule.min_digits
    }
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'<' | b'>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_texts() {
        let shape = |text| {
            let TextShape { longest_token, most_digits } = TextShape::of(text);
            (longest_token, most_digits)
        };
        assert_eq!(shape(""), (0, 0));
        assert_eq!(shape("token=abc,defghij"), (9, 0));
        assert_eq!(shape("call +1 (415) 555-0132 now"), (8, 11));
        assert_eq!(shape("身份证 11010519491231002X"), (18, 17));
    }
}
