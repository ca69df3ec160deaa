//! Finds Chinese names by surnames, titles, and the endings of names of places and organisations.

use std::collections::BTreeMap;

use memory_engine_core::text::{is_han, normalize};
use memory_engine_rule_data::{Words, data};
use serde::Deserialize;

use crate::{
    entity::EntityKind,
    extraction::Mention,
    surnames::{SURNAMES, may_be_in_name, surname_length},
    titles,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameWords {
    place_endings: Words,
    organisation_endings: Words,
    not_places: Words,
    continues_place: String,
    speech_verbs: String,
    subject_verbs: String,
    naming_verbs: Words,
    after_chief: String,
}

data!(WORDS: NameWords = "zh/names.toml");

/// A rule that finds names in a run of Chinese characters.
pub(super) struct RunRule {
    pub(super) id: &'static str,
    find: fn(&Run<'_>) -> Vec<Mention>,
}

/// The rules in the order in which their names are listed, for each run.
pub(super) const RUN_RULES: [RunRule; 4] = [
    RunRule { id: "zh.person.title", find: |run| run.titled() },
    RunRule { id: "zh.name.called", find: |run| run.called() },
    RunRule { id: "zh.person.subject", find: |run| run.subject() },
    RunRule { id: "zh.place.ending", find: |run| run.endings() },
];

/// The rule that takes what stands in `《》` for a work.
pub(super) const WORK: &str = "zh.work.marks";
/// The rule that takes a repeated surname with a given name for a person.
pub(super) const REPEATED: &str = "zh.person.repeated";

/// Returns the names in a text, each with the id of the rule that found it.
pub(super) fn names(text: &str) -> Vec<(&'static str, Mention)> {
    let mut found: Vec<_> = works(text).into_iter().map(|work| (WORK, work)).collect();
    let mut repeated = FullNames::default();
    let characters: Vec<char> = text.chars().collect();
    let simplified: Vec<char> = normalize(text).chars().collect();
    // The conversion may change the number of characters. Then names stay as they are spelled.
    let folded = if simplified.len() == characters.len() { &simplified } else { &characters };
    let mut at = 0;
    while at < characters.len() {
        let length = characters[at..].iter().take_while(|c| is_han(**c)).count();
        if length > 0 {
            let run = Run { text: &characters[at..at + length], folded: &folded[at..at + length] };
            for rule in &RUN_RULES {
                found.extend((rule.find)(&run).into_iter().map(|mention| (rule.id, mention)));
            }
            repeated.count(&run);
        }
        at += length.max(1);
    }
    found.extend(repeated.names().into_iter().map(|name| (REPEATED, Mention::new(name, EntityKind::Person))));
    found
}

/// Returns the kind of entity that a name by itself shows.
pub(super) fn kind_of(name: &str) -> EntityKind {
    let characters: Vec<char> = normalize(name).chars().collect();
    if characters.is_empty() || !characters.iter().copied().all(is_han) {
        return EntityKind::Other;
    }
    let folded: String = characters.iter().collect();
    let ends = |words: &Words| words.iter().any(|end| folded.len() > end.len() && folded.ends_with(end));
    if ends(titles::after()) {
        EntityKind::Person
    } else if ends(&WORDS.organisation_endings) {
        EntityKind::Org
    } else if ends(&WORDS.place_endings) {
        EntityKind::Place
    } else if matches!(characters.len(), 2 | 3) && surname_length(&characters).is_some() {
        EntityKind::Person
    } else {
        EntityKind::Other
    }
}

/// Returns the works in a text: what stands in `《》`.
fn works(text: &str) -> Vec<Mention> {
    let parts = text.split('《').skip(1).filter_map(|part| part.split_once('》'));
    let short = parts.map(|(name, _)| name.trim()).filter(|name| (1..=30).contains(&name.chars().count()));
    short.map(|name| Mention::new(name, EntityKind::Concept)).collect()
}

/// A run of Chinese characters, as spelled and simplified.
struct Run<'t> {
    text: &'t [char],
    folded: &'t [char],
}

impl Run<'_> {
    fn spelled(&self, from: usize, to: usize) -> String {
        self.text[from..to].iter().collect()
    }

    fn has_word(&self, at: usize, word: &str) -> bool {
        self.folded[at..].iter().copied().take(word.chars().count()).eq(word.chars())
    }

    /// Names with a title: 王医生, 张小明老师.
    fn titled(&self) -> Vec<Mention> {
        (0..self.folded.len()).filter_map(|at| self.titled_at(at)).collect()
    }

    fn titled_at(&self, at: usize) -> Option<Mention> {
        let family = surname_length(&self.folded[at..])?;
        (0..=2).rev().find_map(|given| {
            let end = at + family + given;
            let title = titles::after().iter().find(|title| end < self.folded.len() && self.has_word(end, title))?;
            let name_characters = self.folded[at + family..end].iter().all(|c| may_be_in_name(*c));
            // 王总 is a person, 王总是 is not.
            let after_chief = self.folded.get(end + 1).is_some_and(|c| WORDS.after_chief.contains(*c));
            let is_name = name_characters && !(title == "总" && after_chief);
            is_name.then(|| Mention::new(self.spelled(at, end + title.chars().count()), EntityKind::Person))
        })
    }

    /// Names after a verb of naming: 名叫小石头.
    fn called(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.folded.len() {
            let Some(verb) = WORDS.naming_verbs.iter().find(|verb| self.has_word(at, verb)) else { continue };
            let from = at + verb.chars().count();
            let length = self.folded[from..].iter().take_while(|c| may_be_in_name(**c)).count();
            // A longer run has more than the name, and the end of the name is unknown.
            if (2..=4).contains(&length) {
                found.push(Mention::new(self.spelled(from, from + length), EntityKind::Other));
            }
        }
        found
    }

    /// The subject at the beginning of a clause: 林晓月说, 欧阳锋在. A name of two characters needs a verb of speaking, since
    /// many words of two characters begin like a name.
    fn subject(&self) -> Vec<Mention> {
        self.subject_length().map(|end| Mention::new(self.spelled(0, end), EntityKind::Person)).into_iter().collect()
    }

    fn subject_length(&self) -> Option<usize> {
        let family = surname_length(self.folded)?;
        let followed = |given: usize, verbs: &str| self.folded.get(family + given).is_some_and(|c| verbs.contains(*c));
        let speaks = |given| followed(given, &WORDS.speech_verbs);
        let acts = |given| followed(given, &WORDS.subject_verbs);
        let given = if speaks(2) || acts(2) {
            2
        } else if speaks(1) || (family == 2 && acts(1)) {
            1
        } else {
            return None;
        };
        let end = family + given;
        let name: String = self.folded[..end].iter().collect();
        let is_name = self.folded[family..end].iter().all(|c| may_be_in_name(*c))
            && !SURNAMES.not_names.any_in(&name)
            && titles::after().end_of(&name).is_none();
        is_name.then_some(end)
    }

    /// Places and organisations by their endings: 青石村, 风清公司.
    fn endings(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        let mut after = 0;
        for at in 1..self.folded.len() {
            if let Some((from, until, kind)) = self.ending_at(at, after) {
                found.push(Mention::new(self.spelled(from, until), kind));
                after = until;
            }
        }
        found
    }

    /// Returns the range and kind of a name that starts at `after` or later and whose ending starts at `at`.
    fn ending_at(&self, at: usize, after: usize) -> Option<(usize, usize, EntityKind)> {
        if at < after {
            return None;
        }
        let (ending, kind) = self.longest_ending(at)?;
        let length = ending.chars().count();
        let until = at + length;
        // The name continues to the later ending: 杭州 in 杭州市.
        if until < self.folded.len() && self.longest_ending(until).is_some() {
            return None;
        }
        let before = self.folded[after..at].iter().rev().take_while(|c| may_be_in_name(**c)).count();
        // A longer run without a break is a sentence and not a name.
        let max_before = if length > 1 { 6 } else { 3 };
        let continues = self.folded.get(until).is_some_and(|c| WORDS.continues_place.contains(*c));
        if !(1..=max_before).contains(&before) || (continues && length == 1 && before < 2) {
            return None;
        }
        let from = at - before;
        let word: String = self.folded[from..until].iter().collect();
        let is_common = WORDS.not_places.end_of(&word).is_some() || SURNAMES.not_names.end_of(&word).is_some();
        (!is_common).then_some((from, until, kind))
    }

    fn longest_ending(&self, at: usize) -> Option<(&'static str, EntityKind)> {
        let organisations = WORDS.organisation_endings.iter().map(|ending| (ending, EntityKind::Org));
        let places = WORDS.place_endings.iter().map(|ending| (ending, EntityKind::Place));
        let fitting = organisations.chain(places).filter(|(ending, _)| self.has_word(at, ending));
        fitting.max_by_key(|(ending, _)| ending.len())
    }
}

/// Counts what may be a surname with a given name.
#[derive(Default)]
struct FullNames {
    /// Names with two characters after the surname, with their number.
    long: BTreeMap<String, usize>,
    /// Names with one character after the surname, with the character after each occurrence.
    short: BTreeMap<String, Vec<Option<char>>>,
}

impl FullNames {
    fn count(&mut self, run: &Run<'_>) {
        for at in 0..run.folded.len() {
            let Some(family) = surname_length(&run.folded[at..]) else { continue };
            for end in [at + family + 1, at + family + 2] {
                let Some(name) = run.folded.get(at..end) else { continue };
                let word: String = name.iter().collect();
                let is_common = SURNAMES.not_names.iter().any(|no| word.starts_with(no) || word[3..].starts_with(no));
                if is_common || !name[family..].iter().all(|c| may_be_in_name(*c)) {
                    continue;
                }
                let spelled = run.spelled(at, end);
                if end == at + family + 2 {
                    *self.long.entry(spelled).or_default() += 1;
                } else {
                    self.short.entry(spelled).or_default().push(run.folded.get(end).copied());
                }
            }
        }
    }

    /// Returns the names that occur at least twice. A short one with the same character after it each time is the
    /// beginning of something longer.
    fn names(self) -> Vec<String> {
        let mut names: Vec<String> =
            self.long.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
        let long = names.len();
        for (name, mut after) in self.short {
            let count = after.len();
            after.sort();
            after.dedup();
            if count > 1 && after.len() > 1 && !names[..long].iter().any(|long| long.starts_with(name.as_str())) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests;
