//! Finds Chinese names by surnames, titles, the words next to them, and the endings of places and organisations.

mod context;
mod run;

use memory_engine_core::text::{is_han, normalize};
use memory_engine_text::{Words, data};
use serde::Deserialize;

use crate::{
    entity::EntityKind,
    extraction::Mention,
    ordinary_words::is_ordinary_word,
    surnames::{SURNAMES, is_likely_name, is_titled_given_name, may_be_in_given_name, may_be_in_name, surname_length},
    titles,
};
use context::CONTEXT;
use run::HanRun;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameWords {
    place_endings: Words,
    organisation_endings: Words,
    places: Words,
    doubtful_endings: String,
    not_places: Words,
    continues_place: String,
    naming_verbs: Words,
    after_chief: String,
}

data!(WORDS: NameWords = "zh/names.toml");

/// A rule that finds names in a run of Chinese characters.
pub(super) struct RunRule {
    pub(super) id: &'static str,
    find: fn(&HanRun<'_>) -> Vec<Mention>,
}

/// The rules in the order in which their names are listed, for each run.
pub(super) const RUN_RULES: [RunRule; 4] = [
    RunRule { id: "zh.person.title", find: |run| run.titled_names() },
    RunRule { id: "zh.name.called", find: |run| run.names_after_verb() },
    RunRule { id: "zh.place.ending", find: |run| run.names_with_ending() },
    RunRule { id: "zh.place.known", find: |run| run.known_places() },
];

/// The rule that takes a text in `《》` for a work.
pub(super) const WORK_RULE: &str = "zh.work.marks";
/// The rule that takes a name for a person because of the words next to it.
pub(super) const PERSON_RULE: &str = "zh.person.subject";
/// The rule that takes `某某号` for a vehicle.
pub(super) const VEHICLE_RULE: &str = "zh.thing.vehicle";
/// The rule that takes a repeated word with a classifier for the name of a thing.
pub(super) const THING_RULE: &str = "zh.thing.classifier";
/// The rule that takes a repeated surname with a given name for a person.
pub(super) const REPEATED_RULE: &str = "zh.person.repeated";

/// Returns the names in a text, each with the id of the rule that found it.
pub(super) fn names(text: &str) -> Vec<(&'static str, Mention)> {
    let mut found: Vec<_> = works(text).into_iter().map(|work| (WORK_RULE, work)).collect();
    let mut runs = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    let simplified: Vec<char> = normalize(text).chars().collect();
    // The conversion may change the number of characters. Then names stay as they are spelled.
    let folded = if simplified.len() == characters.len() { &simplified } else { &characters };
    let mut at = 0;
    while at < characters.len() {
        let length = characters[at..].iter().take_while(|c| is_han(**c)).count();
        if length > 0 {
            let run = HanRun { text: &characters[at..at + length], folded: &folded[at..at + length] };
            for rule in &RUN_RULES {
                found.extend((rule.find)(&run).into_iter().map(|mention| (rule.id, mention)));
            }
            runs.push(run);
        }
        at += length.max(1);
    }
    let vehicles = context::vehicles(&runs);
    let is_taken = |name: &str| {
        found.iter().any(|(_, mention): &(_, Mention)| mention.name.contains(name))
            || vehicles.iter().any(|vehicle| vehicle.contains(name))
    };
    let people = context::people(&runs, is_taken);
    let is_person = |name: &str| people.by_context.contains(name) || people.repeated.contains(name);
    // 林渡站 in 林渡站在 is no place.
    found.retain(|(_, mention)| {
        let starts_with_person = people.by_context.iter().any(|person| mention.name.starts_with(person.as_str()));
        mention.kind == EntityKind::Person || mention.kind == EntityKind::Concept || !starts_with_person
    });
    let things: Vec<String> = context::things(&runs).into_iter().filter(|thing| !is_person(thing)).collect();
    let mentions = |rule: &'static str, names: Vec<String>, kind: EntityKind| {
        names.into_iter().map(move |name| (rule, Mention::new(name, kind)))
    };
    found.extend(mentions(PERSON_RULE, people.by_context.into_iter().collect(), EntityKind::Person));
    found.extend(mentions(REPEATED_RULE, people.repeated.into_iter().collect(), EntityKind::Person));
    found.extend(mentions(VEHICLE_RULE, vehicles, EntityKind::Other));
    found.extend(mentions(THING_RULE, things, EntityKind::Other));
    found
}

/// Returns the kind of entity that a name by itself shows.
pub(super) fn kind_from_name(name: &str) -> EntityKind {
    let characters: Vec<char> = normalize(name).chars().collect();
    if characters.is_empty() || !characters.iter().copied().all(is_han) {
        return EntityKind::Other;
    }
    let folded: String = characters.iter().collect();
    let has_ending = |words: &Words| words.iter().any(|end| folded.len() > end.len() && folded.ends_with(end));
    if has_ending(titles::suffixes()) {
        EntityKind::Person
    } else if has_ending(&WORDS.organisation_endings) {
        EntityKind::Org
    } else if has_ending(&WORDS.place_endings) {
        EntityKind::Place
    } else if matches!(characters.len(), 2 | 3) && surname_length(&characters).is_some() {
        EntityKind::Person
    } else {
        EntityKind::Other
    }
}

/// Returns the works in a text: the names in `《》`.
fn works(text: &str) -> Vec<Mention> {
    let parts = text.split('《').skip(1).filter_map(|part| part.split_once('》'));
    let names = parts.map(|(name, _)| name.trim()).filter(|name| (1..=30).contains(&name.chars().count()));
    names.map(|name| Mention::new(name, EntityKind::Concept)).collect()
}

impl HanRun<'_> {
    /// Returns names with a title: 王医生, 张小明老师.
    fn titled_names(&self) -> Vec<Mention> {
        (0..self.folded.len()).filter_map(|at| self.titled_name_at(at)).collect()
    }

    fn titled_name_at(&self, at: usize) -> Option<Mention> {
        let family = surname_length(&self.folded[at..])?;
        (0..=2).rev().find_map(|given| {
            let end = at + family + given;
            let title = titles::suffixes().iter().find(|title| end < self.folded.len() && self.has_word(end, title))?;
            let has_name_characters = if given == 0 {
                !self.splits_word(at) && !self.splits_word(at + 1)
            } else {
                let given_name = &self.folded[at + family..end];
                let is_usual = given_name.iter().all(|c| may_be_in_given_name(*c))
                    && is_likely_name(self.folded, at, family, given);
                is_usual || (is_titled_given_name(given_name) && !self.splits_word(at))
            };
            // 王总 is a person, 王总是 is not.
            let is_before_verb = self.folded.get(end + 1).is_some_and(|c| WORDS.after_chief.contains(*c));
            let is_name = has_name_characters && !(title == "总" && is_before_verb);
            is_name.then(|| Mention::new(self.spelled(at, end + title.chars().count()), EntityKind::Person))
        })
    }

    /// Returns names after a verb of naming: 名叫小石头.
    fn names_after_verb(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.folded.len() {
            let Some(verb) = WORDS.naming_verbs.iter().find(|verb| self.has_word(at, verb)) else { continue };
            let from = at + verb.chars().count();
            let length = self.folded[from..].iter().take_while(|c| may_be_in_name(**c)).count();
            // A longer run contains more than the name, and the end of the name is unknown.
            if (2..=4).contains(&length) {
                found.push(Mention::new(self.spelled(from, from + length), EntityKind::Other));
            }
        }
        found
    }

    /// Returns places and organisations by their endings: 青石村, 风清公司.
    fn names_with_ending(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        let mut after = 0;
        for at in 1..self.folded.len() {
            if let Some((from, until, kind)) = self.name_with_ending_at(at, after) {
                found.push(Mention::new(self.spelled(from, until), kind));
                after = until;
            }
        }
        found
    }

    /// Returns well-known places: 成都.
    fn known_places(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for at in 0..self.folded.len() {
            if let Some(length) = self.word_at(at, &WORDS.places)
                && self.longest_ending(at + length).is_none_or(|(_, kind)| kind != EntityKind::Place)
            {
                found.push(Mention::new(self.spelled(at, at + length), EntityKind::Place));
            }
        }
        found
    }

    /// Returns the range and kind of a name that starts at `after` or later and whose ending starts at `at`.
    fn name_with_ending_at(&self, at: usize, after: usize) -> Option<(usize, usize, EntityKind)> {
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
        // 站 is also the verb "to stand".
        let is_verb = self.has_word(at, "站") && self.folded.get(until).is_some_and(|c| CONTEXT.stands.contains(*c));
        let before = at - self.start_of_name(after, at);
        // A longer run without a break is a sentence and not a name.
        let max_before = if length > 1 { 6 } else { 3 };
        let continues = self.folded.get(until).is_some_and(|c| WORDS.continues_place.contains(*c));
        if is_verb || !(1..=max_before).contains(&before) || (continues && length == 1 && before < 2) {
            return None;
        }
        let from = at - before;
        let word: String = self.folded[from..until].iter().collect();
        let is_word = until - from == 2 && is_ordinary_word(self.folded[from], self.folded[from + 1]);
        let is_doubtful = length == 1 && WORDS.doubtful_endings.contains(self.folded[at]);
        let is_person = surname_length(&self.folded[from..until]).is_some_and(|surname| {
            is_doubtful
                && (2..=3).contains(&(until - from))
                && until - from > surname
                && is_likely_name(self.folded, from, surname, until - from - surname)
        });
        let is_common = is_word
            || is_person
            || (is_doubtful && (before < 2 || self.has_ordinary_word(from, at)))
            || (length == 1 && self.splits_word(until))
            || WORDS.not_places.any_ends(&word)
            || SURNAMES.not_names.any_ends(&word);
        (!is_common).then_some((from, until, kind))
    }

    /// Returns the start of a name that ends before `end`: after a particle, and after a word that precedes places.
    fn start_of_name(&self, after: usize, end: usize) -> usize {
        let length = self.folded[after..end].iter().rev().take_while(|c| may_be_in_name(**c)).count();
        let earliest = end - length;
        let follows_word = |at: &usize| self.word_before(*at, &CONTEXT.before_places) && !self.splits_word(*at);
        let mut from = (earliest..=end).rev().find(follows_word).unwrap_or(earliest);
        while from + 1 < end && self.splits_word(from) {
            from += 1;
        }
        from
    }

    /// Returns the longest ending of a place or organisation at a position, with its kind.
    fn longest_ending(&self, at: usize) -> Option<(&'static str, EntityKind)> {
        let organisations = WORDS.organisation_endings.iter().map(|ending| (ending, EntityKind::Org));
        let places = WORDS.place_endings.iter().map(|ending| (ending, EntityKind::Place));
        let matching = organisations.chain(places).filter(|(ending, _)| self.has_word(at, ending));
        matching.max_by_key(|(ending, _)| ending.len())
    }
}

#[cfg(test)]
mod tests;
