//! Statements about several persons, each read as a statement about every one of them.

use regex::Regex;

use super::{language::LanguagePatterns, marks::is_mark};

/// Maximum number of persons of a group.
const GROUP_MAX_PERSONS: usize = 4;

/// The persons that a plural pronoun in the next sentence may refer to. Each is a mark: a private-use character that
/// stands for a name.
#[derive(Debug, Clone, Default)]
pub(super) struct Group(Vec<char>);

impl Group {
    /// Returns the persons listed in a sentence with marks, as in "Mira and Tobin". Empty if the sentence also names
    /// other persons.
    pub(super) fn of(text: &str, language: &LanguagePatterns) -> Self {
        let listed = language.list.find(text).map(|found| persons(found.as_str())).unwrap_or_default();
        let is_group = (2..=GROUP_MAX_PERSONS).contains(&listed.len()) && persons(text).len() == listed.len();
        if is_group && !language.has_person_noun(text) { Self(listed) } else { Self::default() }
    }
}

/// Returns the distinct marks of a text, in order.
fn persons(text: &str) -> Vec<char> {
    let mut marks = Vec::new();
    for mark in text.chars().filter(|c| is_mark(*c)) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// Returns the sentence, followed by one reading for each person of a group. A group is a list in the sentence, or the
/// persons of a plural possessive. `previous` is the group of the sentence before.
pub(super) fn readings(text: String, previous: &Group, language: &LanguagePatterns) -> Vec<String> {
    let mut readings = Vec::new();
    if let Some(found) = language.plural_possessives.find(&text) {
        let before = &text[..found.start()];
        let own = Group::of(before, language);
        // "Harrow is their teacher": "their" refers to the previous group, not to Harrow.
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
