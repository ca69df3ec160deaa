//! Matches and groups of a search.

use std::ops::{Index, Range};

use regex_automata::util::captures::Captures as Groups;

/// A match in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

impl<'t> Match<'t> {
    pub(super) fn new(text: &'t str, range: Range<usize>) -> Self {
        Self { text, start: range.start, end: range.end }
    }

    /// Returns the matched part of the text.
    pub fn as_str(&self) -> &'t str {
        &self.text[self.range()]
    }

    /// Returns the position of the match, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the start of the match, in bytes.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the end of the match, in bytes.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Returns true if the match is empty.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The groups of a match.
#[derive(Debug, Clone)]
pub struct Captures<'t> {
    text: &'t str,
    groups: Groups,
}

impl<'t> Captures<'t> {
    pub(super) fn new(text: &'t str, groups: Groups) -> Self {
        Self { text, groups }
    }

    pub(super) fn whole(&self) -> Option<regex_automata::Match> {
        self.groups.get_match()
    }

    /// Returns the group with this index. Group 0 is the whole match.
    pub fn get(&self, index: usize) -> Option<Match<'t>> {
        self.groups.get_group(index).map(|span| Match::new(self.text, span.range()))
    }

    /// Returns the group with this name.
    pub fn name(&self, name: &str) -> Option<Match<'t>> {
        self.groups.get_group_by_name(name).map(|span| Match::new(self.text, span.range()))
    }

    /// Returns all groups in their order. Groups that are not part of the match are `None`.
    pub fn iter(&self) -> impl Iterator<Item = Option<Match<'t>>> + '_ {
        self.groups.iter().map(|span| span.map(|span| Match::new(self.text, span.range())))
    }
}

/// Returns the text of a group, or an empty text if the group is not part of the match.
impl Index<usize> for Captures<'_> {
    type Output = str;

    fn index(&self, index: usize) -> &str {
        self.get(index).map_or("", |group| group.as_str())
    }
}

/// Returns the text of a group, or an empty text if the group is not part of the match.
impl Index<&str> for Captures<'_> {
    type Output = str;

    fn index(&self, name: &str) -> &str {
        self.name(name).map_or("", |group| group.as_str())
    }
}
