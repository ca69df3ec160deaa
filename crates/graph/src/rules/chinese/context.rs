//! Finds people, things and vehicles by the words next to them.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_text::{Words, data};
use serde::Deserialize;

use super::run::HanRun;
use crate::{
    ordinary_words::is_ordinary_word,
    surnames::{is_double_surname, is_likely_name, may_be_in_given_name, may_be_in_name, surname_length},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextWords {
    before_names: Words,
    before_persons: Words,
    person_verbs: Words,
    adverbs: Words,
    possessions: Words,
    relatives: Words,
    relative_clauses: String,
    thing_endings: String,
    name_prefixes: String,
    not_prefixed: Words,
    noun_endings: String,
    pub(super) before_places: Words,
    pub(super) stands: String,
    vehicles: Words,
    vehicle_ending: char,
    classifiers: String,
    before_classifiers: String,
}

data!(pub(super) CONTEXT: ContextWords = "zh/context.toml");

/// Maximum length of a name of another form than surname and given name, in characters.
const OTHER_NAME_MAX_CHARS: usize = 4;
/// Minimum number of occurrences as a person of a name without a surname.
const OTHER_NAME_MIN_CONTEXTS: usize = 2;
/// Maximum number of adverbs between a person and a verb.
const MAX_ADVERBS: usize = 2;
/// Maximum length of an attribute before a relative, in characters.
const MAX_ATTRIBUTE_CHARS: usize = 2;
/// Maximum distance of a relative from the verb of its clause, in characters.
const RELATIVE_CLAUSE_MAX_CHARS: usize = 30;
/// Maximum length of the name of a thing, in characters.
const THING_MAX_CHARS: usize = 3;
/// Minimum number of occurrences of a thing with a name of two characters and no classifier.
const SHORT_THING_MIN_OCCURRENCES: usize = 3;

/// The form of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameForm {
    /// A surname with a given name, or a familiar name with a prefix.
    Personal,
    Other,
}

/// The occurrences of a possible name.
#[derive(Debug)]
struct NameOccurrences {
    form: NameForm,
    /// Number of occurrences in which the words next to the name show a person.
    contexts: usize,
    /// The characters after the occurrences that may be the whole name.
    after: Vec<Option<char>>,
}

/// Names of people in a text.
#[derive(Default)]
pub(super) struct People {
    /// Names that are people according to the words next to them.
    pub(super) by_context: BTreeSet<String>,
    /// Other names with a surname that recur.
    pub(super) repeated: BTreeSet<String>,
}

/// Returns the people that a text names.
pub(super) fn people(runs: &[HanRun<'_>], is_taken: impl Fn(&str) -> bool) -> People {
    let mut all: BTreeMap<String, NameOccurrences> = BTreeMap::new();
    for run in runs {
        for at in 0..run.folded.len() {
            for length in 2..=OTHER_NAME_MAX_CHARS {
                collect_occurrence(run, at, at + length, &mut all);
            }
        }
    }
    let mut found = People::default();
    for (name, occurrences) in &all {
        let min_contexts = if occurrences.form == NameForm::Personal { 1 } else { OTHER_NAME_MIN_CONTEXTS };
        if occurrences.contexts >= min_contexts {
            found.by_context.insert(name.clone());
        }
    }
    // The name with the most contexts wins over longer and shorter ones.
    let contexts = |name: &str| all.get(name).map_or(0, |occurrences| occurrences.contexts);
    let mut outdone: BTreeSet<String> = BTreeSet::new();
    for longer in &found.by_context {
        for shorter in parts(longer).filter(|part| *part != longer && found.by_context.contains(*part)) {
            let loser = if contexts(longer) >= contexts(shorter) { shorter } else { longer };
            outdone.insert(loser.to_owned());
        }
    }
    found.by_context.retain(|name| !outdone.contains(name));
    let mut known: BTreeSet<String> = found.by_context.clone();
    let mut known_parts: BTreeSet<String> = known.iter().flat_map(|name| parts(name)).map(str::to_owned).collect();
    for (name, mut occurrences) in all {
        let count = occurrences.after.len();
        occurrences.after.sort_unstable();
        occurrences.after.dedup();
        let overlaps = known_parts.contains(&name) || parts(&name).any(|part| known.contains(part));
        // A name with the same character after it each time is the beginning of something longer.
        let recurs = count > 1 && (occurrences.after.len() > 1 || name.chars().count() > 2);
        if occurrences.form == NameForm::Personal && recurs && !overlaps && !is_taken(&name) {
            known_parts.extend(parts(&name).map(str::to_owned));
            known.insert(name.clone());
            found.repeated.insert(name);
        }
    }
    found
}

/// Returns the parts of a name that have at least two characters, itself included.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.char_indices().map(|(start, _)| start);
    starts.flat_map(move |start| {
        name[start..].char_indices().skip(1).map(move |(at, c)| &name[start..start + at + c.len_utf8()])
    })
}

/// Counts a part of a run as an occurrence of a name, if it may be one.
fn collect_occurrence(run: &HanRun<'_>, from: usize, to: usize, all: &mut BTreeMap<String, NameOccurrences>) {
    if to > run.folded.len() {
        return;
    }
    let Some(form) = name_form(run, from, to) else { return };
    let may_start = from == 0 || run.word_before(from, &CONTEXT.before_names);
    let is_person = (may_start && is_person_before(run, to)) || (is_person_after(run, from) && may_end(run, to));
    let may_recur = form == NameForm::Personal && !run.splits_word(to);
    if !is_person && !may_recur {
        return;
    }
    let new = NameOccurrences { form, contexts: 0, after: Vec::new() };
    let occurrences = all.entry(run.spelled(from, to)).or_insert(new);
    if is_person {
        occurrences.contexts += 1;
    }
    occurrences.after.push(run.folded.get(to).copied());
}

/// Returns the form of a name, or `None` if a part of a run cannot be a name.
fn name_form(run: &HanRun<'_>, from: usize, to: usize) -> Option<NameForm> {
    let name = &run.folded[from..to];
    if from > 0 && is_double_surname(run.folded[from - 1], name[0]) {
        return None;
    }
    if let Some(surname) = surname_length(name)
        && matches!(name.len() - surname, 1 | 2)
        && is_likely_name(run.folded, from, surname, name.len() - surname)
    {
        return Some(NameForm::Personal);
    }
    let word: String = name.iter().collect();
    let is_prefixed = CONTEXT.name_prefixes.contains(name[0])
        && name.len() == 2
        && may_be_in_given_name(name[1])
        && !CONTEXT.not_prefixed.contains(&word)
        && !run.splits_word(from);
    if is_prefixed {
        return Some(NameForm::Personal);
    }
    let is_name = name.iter().all(|c| may_be_in_given_name(*c))
        && !run.has_ordinary_word(from, to)
        && !run.splits_word(from)
        && !run.splits_word(to)
        && !CONTEXT.noun_endings.contains(name[name.len() - 1]);
    is_name.then_some(NameForm::Other)
}

/// Returns true if the words after a position say something of a person.
fn is_person_before(run: &HanRun<'_>, mut at: usize) -> bool {
    if run.has_word(at, "的") {
        // 凯恩的老朋友: a short attribute may precede the relative.
        let is_relative =
            (1..=1 + MAX_ATTRIBUTE_CHARS).any(|skip| run.word_at(at + skip, &CONTEXT.relatives).is_some());
        return is_relative || run.word_at(at + 1, &CONTEXT.possessions).is_some();
    }
    if is_relative_clause(run, at) {
        return true;
    }
    for _ in 0..=MAX_ADVERBS {
        if run.word_at(at, &CONTEXT.person_verbs).is_some() {
            return true;
        }
        let Some(adverb) = run.word_at(at, &CONTEXT.adverbs) else { return false };
        at += adverb;
    }
    false
}

/// Returns true if the words after a position name a relative: 是顾清尘的妹妹, 有一个弟弟.
fn is_relative_clause(run: &HanRun<'_>, at: usize) -> bool {
    let starts_clause = run.folded.get(at).is_some_and(|c| CONTEXT.relative_clauses.contains(*c));
    let end = run.folded.len().min(at + 1 + RELATIVE_CLAUSE_MAX_CHARS);
    starts_clause && (at + 1..end).any(|at| run.word_at(at, &CONTEXT.relatives).is_some())
}

/// Returns true if the word before a position precedes persons.
fn is_person_after(run: &HanRun<'_>, at: usize) -> bool {
    run.word_before(at, &CONTEXT.before_persons)
}

/// Returns true if a name may end at a position.
fn may_end(run: &HanRun<'_>, at: usize) -> bool {
    run.folded.get(at).is_none_or(|next| !may_be_in_name(*next)) || is_person_before(run, at)
}

/// Returns the vehicles that a text names: 远航七号.
pub(super) fn vehicles(runs: &[HanRun<'_>]) -> Vec<String> {
    let has_vehicle = |run: &HanRun<'_>| (0..run.folded.len()).any(|at| run.word_at(at, &CONTEXT.vehicles).is_some());
    if !runs.iter().any(has_vehicle) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for run in runs {
        for at in 0..run.folded.len() {
            if run.folded[at] != CONTEXT.vehicle_ending {
                continue;
            }
            let before = run.folded[..at].iter().rev().take_while(|c| may_be_in_name(**c)).count().min(5);
            let is_start = |from: &usize| *from == 0 || run.word_before(*from, &CONTEXT.before_places);
            let from = (at - before..at)
                .rev()
                .filter(|from| at - from >= 2)
                .find(|from| is_start(from) && !run.splits_word(*from));
            if let Some(from) = from
                && !is_ordinary_word(run.folded[at - 1], run.folded[at])
            {
                found.push(run.spelled(from, at + 1));
            }
        }
    }
    found
}

/// Returns the things that a text names twice, with a classifier or an ending of things: 一枚铜符, 断水剑.
pub(super) fn things(runs: &[HanRun<'_>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for run in runs {
        for at in 0..run.folded.len() {
            let is_classified = at > 1
                && CONTEXT.classifiers.contains(run.folded[at - 1])
                && CONTEXT.before_classifiers.contains(run.folded[at - 2]);
            if !is_classified {
                found.extend(thing_by_ending(runs, run, at));
                continue;
            }
            let is_thing = |to: &usize| {
                run.folded[at..*to].iter().all(|c| may_be_in_name(*c))
                    && !run.has_ordinary_word(at, *to)
                    && !run.splits_word(*to)
                    && occurrence_count(runs, &run.folded[at..*to]) > 1
            };
            let to = (at + 2..=run.folded.len().min(at + THING_MAX_CHARS)).rev().find(is_thing);
            found.extend(to.map(|to| run.spelled(at, to)));
        }
    }
    found
}

/// Returns the name of a thing with an ending of things that begins at a position.
fn thing_by_ending(runs: &[HanRun<'_>], run: &HanRun<'_>, at: usize) -> Option<String> {
    let may_start = at == 0 || run.word_before(at, &CONTEXT.before_names);
    let is_thing = |length: usize, min_occurrences: usize| {
        run.folded.get(at..at + length).is_some_and(|name| {
            may_start
                && CONTEXT.thing_endings.contains(name[length - 1])
                && name.iter().all(|c| may_be_in_name(*c))
                && !run.has_ordinary_word(at, at + length)
                && occurrence_count(runs, name) >= min_occurrences
        })
    };
    let is_short = || is_thing(2, SHORT_THING_MIN_OCCURRENCES) && !run.splits_word(at) && !run.splits_word(at + 2);
    if is_thing(THING_MAX_CHARS, 2) {
        Some(run.spelled(at, at + THING_MAX_CHARS))
    } else {
        is_short().then(|| run.spelled(at, at + 2))
    }
}

fn occurrence_count(runs: &[HanRun<'_>], word: &[char]) -> usize {
    runs.iter().map(|run| run.folded.windows(word.len()).filter(|part| *part == word).count()).sum()
}
