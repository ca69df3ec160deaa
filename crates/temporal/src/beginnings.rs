//! Finds the rules whose dates may begin at a character, so that the other rules need not read the text there.

use memory_engine_rule_data::Words;
use rustc_hash::FxHashMap;

use crate::{characters::is_letter, reading::DateRule, scan::Scan};

/// The beginning of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The first character.
    Character(char),
    /// The first word, with all its letters.
    Word(&'static str),
}

/// Returns the first character of each word as a beginning.
pub(crate) fn first_characters(words: impl IntoIterator<Item = &'static str>) -> Vec<Beginning> {
    words.into_iter().filter_map(|word| word.chars().next()).map(Beginning::Character).collect()
}

/// Returns the first word of each phrase as a beginning. A phrase without letters at its start has none.
pub(crate) fn first_words(phrases: impl IntoIterator<Item = &'static str>) -> Vec<Beginning> {
    let first_word = |phrase: &'static str| phrase.split(|c| !is_letter(c)).next();
    phrases.into_iter().filter_map(first_word).filter(|word| !word.is_empty()).map(Beginning::Word).collect()
}

/// Returns the first character of each word of a list as a beginning.
pub(crate) fn first_characters_of(words: &'static Words) -> Vec<Beginning> {
    first_characters(words.iter())
}

/// Rules with an index of the beginnings of their dates.
pub(crate) struct RuleIndex {
    rules: &'static [DateRule],
    by_character: FxHashMap<char, RuleSet>,
    by_word: FxHashMap<&'static str, RuleSet>,
    /// Rules that are tried everywhere.
    everywhere: RuleSet,
}

/// A set of rules: bit `n` is set for the rule with index `n`.
type RuleSet = u32;

impl RuleIndex {
    pub(crate) fn new(rules: &'static [DateRule]) -> Self {
        let mut by_character: FxHashMap<char, RuleSet> = FxHashMap::default();
        let mut by_word: FxHashMap<&'static str, RuleSet> = FxHashMap::default();
        for (n, rule) in rules.iter().enumerate() {
            for beginning in (rule.beginnings)() {
                let set = match beginning {
                    Beginning::Character(character) => by_character.entry(character).or_default(),
                    Beginning::Word(word) => by_word.entry(word).or_default(),
                };
                *set |= 1 << n;
            }
        }
        Self { rules, by_character, by_word, everywhere: 0 }
    }

    /// Returns an index that tries all rules everywhere. Its readings are the reference for those of [`Self::new`].
    #[cfg(test)]
    pub(crate) fn without_beginnings(rules: &'static [DateRule]) -> Self {
        Self { everywhere: (1 << rules.len()) - 1, ..Self::new(rules) }
    }

    /// Returns the rules whose dates may begin at a character, in their order.
    pub(crate) fn rules_at(&self, scan: &Scan, at: usize) -> impl Iterator<Item = &'static DateRule> {
        let mut set = self.set_at(scan, at);
        std::iter::from_fn(move || {
            let rule = self.rules.get(usize::try_from(set.trailing_zeros()).ok()?)?;
            set &= set - 1;
            Some(rule)
        })
    }

    fn set_at(&self, scan: &Scan, at: usize) -> RuleSet {
        let Some(character) = scan.at(at) else { return self.everywhere };
        let mut set = self.everywhere | self.by_character.get(&character).copied().unwrap_or(0);
        if !self.by_word.is_empty()
            && let Some((word, _)) = scan.letters(at)
        {
            set |= self.by_word.get(word).copied().unwrap_or(0);
        }
        set
    }
}
