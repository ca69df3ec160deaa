//! Types shared by the rules that read dates, and the index that finds the rules for a character.

use rustc_hash::FxHashMap;

use crate::{
    calendar::{Reference, Stretch},
    date_starts::DateStart,
    scan::Scan,
};

/// A date that a rule has found: the index after its last character, and its stretch of the calendar.
pub(crate) type FoundDate = Option<(usize, Stretch)>;

/// A rule that reads the dates of one form.
pub(crate) struct DateRule {
    pub(crate) id: &'static str,
    /// Returns all starts of its dates. The rule is tried only where one of them is.
    pub(crate) starts: fn() -> Vec<DateStart>,
    /// Reads the date that starts at a character.
    pub(crate) read: fn(&DateReader<'_>, usize) -> FoundDate,
}

/// A date in a text: its characters, its stretch of the calendar, and the id of the rule that read it.
#[derive(Debug, Clone)]
pub(crate) struct DateReading {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) stretch: Stretch,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests of the rules read it"))]
    pub(crate) rule: &'static str,
}

/// A text with its reference time, and the rules to read it.
pub(crate) struct DateReader<'s> {
    pub(crate) scan: &'s Scan,
    pub(crate) reference: &'s Reference<'s>,
    rules: &'s RuleIndex,
    /// Nesting depth of the current date: 0 for a date that no other one is relative to.
    depth: u8,
}

/// Maximum nesting depth, as in "two days before the week before last Friday".
const MAX_DEPTH: u8 = 2;

impl<'s> DateReader<'s> {
    pub(crate) fn new(scan: &'s Scan, reference: &'s Reference<'s>, rules: &'s RuleIndex) -> Self {
        Self { scan, reference, rules, depth: 0 }
    }

    /// Reads the longest date that starts at a character. Of equally long dates, that of the last rule counts.
    pub(crate) fn date(&self, begin: usize) -> Option<DateReading> {
        let readings = self.rules.rules_at(self.scan, begin).filter_map(|rule| {
            let (end, stretch) = (rule.read)(self, begin)?;
            Some(DateReading { begin, end, stretch, rule: rule.id })
        });
        readings.max_by_key(|reading| reading.end)
    }

    /// Returns a reader for the date that this one is relative to. `None` if dates are nested too deep.
    pub(crate) fn nested(&self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..*self })
    }
}

/// Rules with an index of the starts of their dates.
pub(crate) struct RuleIndex {
    rules: &'static [DateRule],
    by_character: FxHashMap<char, RuleSet>,
    by_word: FxHashMap<&'static str, RuleSet>,
    /// Rules that are tried at every character. Empty, except in the index that the tests compare with.
    everywhere: RuleSet,
}

/// A set of rules: bit `n` is set for the rule with index `n`.
type RuleSet = u64;

impl RuleIndex {
    pub(crate) fn new(rules: &'static [DateRule]) -> Self {
        debug_assert!(rules.len() < RuleSet::BITS as usize, "a set has one bit for each rule");
        let mut by_character: FxHashMap<char, RuleSet> = FxHashMap::default();
        let mut by_word: FxHashMap<&'static str, RuleSet> = FxHashMap::default();
        for (n, rule) in rules.iter().enumerate() {
            for start in (rule.starts)() {
                let set = match start {
                    DateStart::Character(character) => by_character.entry(character).or_default(),
                    DateStart::Word(word) => by_word.entry(word).or_default(),
                };
                *set |= 1 << n;
            }
        }
        Self { rules, by_character, by_word, everywhere: 0 }
    }

    /// Returns an index that tries all rules everywhere. Its readings are the reference for those of [`Self::new`].
    #[cfg(test)]
    pub(crate) fn trying_all_rules_everywhere(rules: &'static [DateRule]) -> Self {
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
