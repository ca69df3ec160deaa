//! Statements about several persons, each read as a statement about every one of them.

use regex::Regex;

use super::{language::LanguagePatterns, marks::is_mark};

/// Maximum number of persons of a group.
const GROUP_MAX_PERSONS: usize = 4;

/// The marks of the persons whom a plural pronoun in the next sentence may refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Group(Vec<char>);

impl Group {
    /// Returns the group that a sentence with marks lists: "Mira and Tobin". It is empty if the sentence names others,
    /// too.
    pub(super) fn of(text: &str, language: &LanguagePatterns) -> Self {
        let listed = language.list.find(text).map(|found| persons(found.as_str())).unwrap_or_default();
        let is_group = (2..=GROUP_MAX_PERSONS).contains(&listed.len()) && persons(text).len() == listed.len();
        if is_group && !language.has_person_noun(text) { Self(listed) } else { Self::default() }
    }
}

/// Returns the marks of a text, each once.
fn persons(text: &str) -> Vec<char> {
    let mut marks = Vec::new();
    for mark in text.chars().filter(|c| is_mark(*c)) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// Returns a sentence with marks, and its readings with one person in place of a group: of a list in the sentence, and
/// of a plural pronoun. `previous` is the group of the sentence before.
pub(super) fn readings(text: String, previous: &Group, language: &LanguagePatterns) -> Vec<String> {
    let mut readings = Vec::new();
    if let Some(found) = language.plural_possessives.find(&text) {
        let before = &text[..found.start()];
        let own = Group::of(before, language);
        // "Harrow is their teacher": the pronoun is not Harrow's.
        let others = persons(before);
        let follows_previous = others.len() < 2
            && !others.iter().any(|mark| previous.0.contains(mark))
            && !language.has_person_noun(before);
        let group = if follows_previous { previous } else { &own };
        let possessive = |mark: &char| format!("{mark}{}", language.possessive_ending());
        readings.extend(replaced(&text, &language.plural_possessives, group.0.iter().map(possessive)));
    }
    if let Some(found) = language.list.find(&text) {
        // In "Mira and Tobin's sister", the sister may be that of Tobin alone.
        let is_genitive = text[found.end()..].starts_with(['\'', '’', '的']);
        let members: Vec<char> = found.as_str().chars().filter(|c| is_mark(*c)).collect();
        if !is_genitive && members.len() <= GROUP_MAX_PERSONS {
            readings.extend(replaced(&text, &language.list, members.iter().map(char::to_string)));
        }
    }
    readings.insert(0, text);
    readings
}

/// Returns the text with the first match replaced by each of the replacements.
fn replaced(text: &str, pattern: &Regex, replacements: impl Iterator<Item = String>) -> Vec<String> {
    replacements.map(|replacement| pattern.replace(text, replacement.as_str()).into_owned()).collect()
}
