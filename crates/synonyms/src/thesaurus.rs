//! An index of synonym groups for expanding queries.
//!
//! Reasons: `docs/design/decisions/0011-synonym-group-is-one-clause.md`.

use memory_engine_core::{
    phrases::{fold, stands_alone},
    text::is_han,
};
use memory_engine_keyword_store::{Analyzer, WordSpan, words};
use rustc_hash::FxHashMap;

use crate::group::SynonymGroup;

/// An immutable index of synonym groups, for looking up the words of a query.
///
/// Words are matched in any case and width. A word of a script with blanks must stand alone, and a single Chinese
/// character must be a word of its own in the dictionary (`杀` is not in "杀毒软件"). Stop words are never matched. Of
/// overlapping words the longest counts. [`expand`](Self::expand) also matches other grammatical forms
/// (`mercenaries`).
#[derive(Debug, Default)]
pub struct Thesaurus {
    pub(crate) groups: Vec<Group>,
    pub(crate) synonym_weight: f64,
    /// Every folded word with its entries, by its first character. Longer words come first.
    by_first: FxHashMap<char, Vec<(String, Vec<Entry>)>>,
    /// Words of a single term, by that term. Inflected forms of a word have the same term.
    by_term: FxHashMap<String, Vec<Entry>>,
}

/// A group with the index terms of each of its words.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) words: Vec<String>,
    pub(crate) terms: Vec<Vec<(String, f64)>>,
}

/// A word of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) group: usize,
    pub(crate) word: usize,
}

/// A word in a query that is in one or more groups.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) entries: Vec<Entry>,
}

/// Minimum weight of a term, relative to the heaviest term of the same word. Lighter terms, such as single characters,
/// are left out.
const MIN_RELATIVE_TERM_WEIGHT: f64 = 0.4;

impl Thesaurus {
    /// Default weight of an occurrence of a synonym. The word itself has the weight 1.
    pub const SYNONYM_WEIGHT: f64 = 0.6;

    /// Creates a thesaurus for an index of this analyzer. Groups that fail [`SynonymGroup::validate`] are left out; a
    /// database that was edited by hand may contain some.
    pub fn new(analyzer: &dyn Analyzer, groups: impl IntoIterator<Item = SynonymGroup>) -> Self {
        let mut thesaurus = Self { synonym_weight: Self::SYNONYM_WEIGHT, ..Self::default() };
        let mut entries_by_word: FxHashMap<String, Vec<Entry>> = FxHashMap::default();
        for group in groups.into_iter().filter(|group| group.validate().is_ok()) {
            let words: Vec<String> = group.words().map(str::to_owned).collect();
            let terms: Vec<_> = words.iter().map(|word| terms(analyzer, word)).collect();
            for (n, (word, terms)) in words.iter().zip(&terms).enumerate() {
                // A stop word ("it") has no terms. It would match almost every query.
                if terms.is_empty() {
                    continue;
                }
                let entry = Entry { group: thesaurus.groups.len(), word: n };
                entries_by_word.entry(fold(word)).or_default().push(entry);
                if let [(term, _)] = terms.as_slice()
                    && !term.chars().any(is_han)
                {
                    thesaurus.by_term.entry(term.clone()).or_default().push(entry);
                }
            }
            thesaurus.groups.push(Group { words, terms });
        }
        for (word, entries) in entries_by_word {
            if let Some(first) = word.chars().next() {
                thesaurus.by_first.entry(first).or_default().push((word, entries));
            }
        }
        thesaurus.by_first.values_mut().for_each(|list| list.sort_by_key(|(word, _)| std::cmp::Reverse(word.len())));
        thesaurus
    }

    /// Sets the weight of an occurrence of a synonym, from 0 to 1. Default: [`SYNONYM_WEIGHT`](Self::SYNONYM_WEIGHT).
    #[must_use]
    pub fn with_synonym_weight(mut self, weight: f64) -> Self {
        self.synonym_weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { Self::SYNONYM_WEIGHT };
        self
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns true if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns true if two words are in one group.
    pub fn relates(&self, a: &str, b: &str) -> bool {
        let groups = |word: &str| {
            let folded = fold(word);
            let list = folded.chars().next().and_then(|first| self.by_first.get(&first));
            let entries = list.and_then(|list| list.iter().find(|(known, _)| *known == folded));
            entries.map(|(_, entries)| entries.iter().map(|entry| entry.group).collect()).unwrap_or_default()
        };
        let (a, b): (Vec<usize>, Vec<usize>) = (groups(a), groups(b));
        a.iter().any(|group| b.contains(group))
    }

    /// Returns the words of a query for a store that takes plain words. A word in a group is followed by the other
    /// words of the group. Stop words are left out, and each word occurs once.
    ///
    /// ```
    /// # use memory_engine_synonyms::{SynonymGroup, Thesaurus};
    /// # use memory_engine_keyword_store::TextAnalyzer;
    /// let thesaurus = Thesaurus::new(&TextAnalyzer, [SynonymGroup::new("雇佣兵", ["佣兵", "mercenary"])]);
    /// assert_eq!(thesaurus.expand_terms("佣兵在柏林"), ["佣兵", "雇佣兵", "mercenary", "柏林"]);
    /// ```
    pub fn expand_terms(&self, query: &str) -> Vec<String> {
        let folded = fold(query);
        let words = words(&folded);
        let matches = self.find(&folded, &words);
        let mut expanded: Vec<String> = Vec::new();
        let mut push = |word: &str| {
            let folded_word = fold(word);
            if !expanded.iter().any(|known| fold(known) == folded_word) {
                expanded.push(word.to_owned());
            }
        };
        let mut remaining = matches.iter().peekable();
        let push_group = |found: &Match, push: &mut dyn FnMut(&str)| {
            for entry in &found.entries {
                push(&self.groups[entry.group].words[entry.word]);
            }
            for entry in &found.entries {
                self.groups[entry.group].words.iter().for_each(|word| push(word));
            }
        };
        for word in &words {
            while let Some(found) = remaining.next_if(|found| found.start <= word.start) {
                push_group(found, &mut push);
            }
            if !matches.iter().any(|found| found.start < word.end() && word.start < found.end) {
                push(word.text);
            }
        }
        remaining.for_each(|found| push_group(found, &mut push));
        expanded
    }

    /// Finds the words of groups in a folded query, from left to right and without overlaps.
    pub(crate) fn find(&self, folded: &str, words: &[WordSpan<'_>]) -> Vec<Match> {
        let mut found = Vec::new();
        let mut end = 0;
        for (start, first) in folded.char_indices() {
            if start < end {
                continue;
            }
            let candidates = self.by_first.get(&first).into_iter().flatten();
            let matches_here = |(word, _): &&(String, Vec<Entry>)| {
                let end = start + word.len();
                folded[start..].starts_with(word.as_str()) && stands_alone(folded, start, end) && {
                    let mut characters = word.chars();
                    let single = characters.next().is_some_and(is_han) && characters.next().is_none();
                    !single || words.iter().any(|w| (w.start, w.end()) == (start, end))
                }
            };
            if let Some((word, entries)) = candidates.into_iter().find(matches_here) {
                end = start + word.len();
                found.push(Match { start, end, entries: entries.clone() });
            }
        }
        found
    }

    /// Returns the words of groups that have this index term. It also finds inflected forms of a word.
    pub(crate) fn entries_of_term(&self, term: &str) -> &[Entry] {
        self.by_term.get(term).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the index terms of a word, without stop words, each with its share of the whole.
fn terms(analyzer: &dyn Analyzer, word: &str) -> Vec<(String, f64)> {
    let clauses = analyzer.query(word);
    let heaviest = clauses.iter().map(|clause| clause.weight).fold(0.0, f64::max);
    let significant = clauses.into_iter().filter(|clause| clause.weight >= MIN_RELATIVE_TERM_WEIGHT * heaviest);
    let mut terms: Vec<(String, f64)> = significant
        .flat_map(|clause| clause.terms.into_iter().map(move |t| (t.term, t.weight * clause.weight)))
        .collect();
    let total: f64 = terms.iter().map(|(_, weight)| weight).sum();
    if total > 0.0 {
        terms.iter_mut().for_each(|(_, weight)| *weight /= total);
    }
    terms
}
