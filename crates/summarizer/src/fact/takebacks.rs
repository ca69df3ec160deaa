//! Sentences about an earlier statement of the speaker: "Forget that I live in Porto", "I'm not a nurse", "My name is
//! not Tom, it's Tim".

use std::collections::BTreeMap;

use memory_engine_core::{Language, RuleId};
use memory_engine_text::{Captures, Words};

use crate::{
    data::{DataPattern, DataPatterns, data},
    fact::slot::family,
    text::has_han,
};

data! {
    DATA = "en/takebacks.toml", "zh/takebacks.toml";
    DataPattern: opening, joke;
    DataPatterns: clause, topic, denial, denial_of_home, contrast;
    Words: deniable, vague_ends;
    BTreeMap<String, String>: base_forms;
    BTreeMap<String, Words>: slot_names, ends;
}

/// The parts of a sentence that takes something back.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TakeBack {
    /// Statements in the first person that the sentence denies.
    pub(super) denied: Vec<String>,
    /// The subject of earlier statements that the sentence takes back, if `denied` names no fact.
    pub(super) topic: Option<String>,
    /// The rest of the sentence, which is a statement of its own.
    pub(super) rest: String,
}

/// Returns the parts of a normalised sentence. A sentence that takes nothing back is `rest`.
pub(super) fn take_back(sentence: &str) -> TakeBack {
    let bare = &sentence[DATA.opening.find(sentence).map_or(0, |opening| opening.end())..];
    if let Some(found) = DATA.contrast.captures(bare) {
        let stated = statement(&found, "new", "old");
        let rest = format!("{stated}{}", after(bare, &found));
        return TakeBack { denied: vec![statement(&found, "old", "new")], topic: None, rest };
    }
    let of_topic = DATA.topic.captures(bare);
    let topic = of_topic.as_ref().map(|found| group(found, "topic").to_owned());
    let of_clause = DATA.clause.captures(bare);
    let denied = of_clause.as_ref().map(|found| clauses(group(found, "clause"))).unwrap_or_default();
    let rest = of_clause.or(of_topic).map_or_else(|| bare.to_owned(), |found| after(bare, &found));
    TakeBack { denied, topic, rest }
}

/// Returns true if a sentence says no more than that the one before it was a joke or wrong.
pub(super) fn is_joke(sentence: &str) -> bool {
    DATA.joke.is_match(sentence)
}

/// Returns true if a plain denial ("I'm not a nurse") is a fact in the slots of this family.
pub(super) fn is_deniable(family: &str) -> bool {
    DATA.deniable.contains(family)
}

/// Returns true if a folded subject names a slot: "job" names `job` and `workplace`.
pub(crate) fn names_slot(topic: &str, slot: &str) -> bool {
    DATA.slot_names.get(family(slot)).is_some_and(|names| names.contains(topic))
}

/// Returns true if an end of this slot and folded value, such as `ended.quit`, applies to facts of another slot.
pub(crate) fn ends_slot(ending: &str, value: &str, slot: &str) -> bool {
    let slots = ending.split_once('.').and_then(|(_, kind)| DATA.ends.get(kind));
    slots.is_some_and(|slots| slots.contains(family(slot))) && !DATA.vague_ends.contains(value)
}

/// Returns the id of the rule for denied statements, and of that for subjects that are taken back.
pub(super) fn rule_ids(language: Language) -> &'static [RuleId; 2] {
    language.pick(&ZH_RULES, &EN_RULES)
}

static EN_RULES: [RuleId; 2] = [RuleId::from_static("en.takeback.denied"), RuleId::from_static("en.takeback.topic")];
static ZH_RULES: [RuleId; 2] = [RuleId::from_static("zh.takeback.denied"), RuleId::from_static("zh.takeback.topic")];

/// Returns the statement that a clause denies: "I'm a nurse" of "I'm not a nurse".
pub(super) fn denied(clause: &str) -> Option<String> {
    if let Some(found) = DATA.denial_of_home.captures(clause) {
        return Some(format!("我住在{}", group(&found, "rest")));
    }
    let found = DATA.denial.captures(clause)?;
    let rest = group(&found, "rest");
    let (verb, end) = rest.split_once(' ').unwrap_or((rest, ""));
    let base = DATA.base_forms.get(&verb.to_lowercase()).map(String::as_str).unwrap_or(verb);
    let rest = if end.is_empty() { base.to_owned() } else { format!("{base} {end}") };
    Some(joined(group(&found, "head"), &rest))
}

/// Returns the statements that a clause may stand for: of 核桃过敏, also 我核桃过敏.
fn clauses(clause: &str) -> Vec<String> {
    let mut statements = vec![clause.to_owned()];
    if has_han(clause) && !clause.starts_with('我') {
        statements.extend([format!("我{clause}"), format!("我是{clause}")]);
    }
    statements
}

/// Returns the head of a contrast with one of its ends. An end without a preposition gets that of the other end.
fn statement(found: &Captures<'_>, end: &str, other: &str) -> String {
    let end = group(found, end);
    let preposition = group(found, other).split_once(' ').map(|(first, _)| first).filter(|first| {
        let is_needed = |word: &&str| ["to", "in", "at", "for", "as", "from", "a", "an"].contains(word);
        is_needed(first) && !end.split(' ').next().is_some_and(|first| is_needed(&first))
    });
    let end = preposition.map_or_else(|| end.to_owned(), |preposition| format!("{preposition} {end}"));
    let head = [group(found, "head"), group(found, "verb")].join(" ");
    joined(head.trim(), &end)
}

fn joined(head: &str, end: &str) -> String {
    if has_han(head) { format!("{head}{end}") } else { format!("{head} {end}") }
}

fn group<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |group| group.as_str().trim())
}

/// Returns the text after a match.
fn after(text: &str, found: &Captures<'_>) -> String {
    let end = found.get(0).map_or(0, |whole| whole.end());
    text[end..].trim_start_matches([',', ';', '.', ' ', '，', '。', '；', '!', '！', '-', '—', '–']).to_owned()
}

#[cfg(test)]
mod tests;
