//! Sentences in which each name is one character, so that patterns can refer to names.

use std::collections::BTreeSet;

use memory_engine_core::phrases;

use super::{
    language::LanguagePatterns,
    marks::{MAX_MARKS, mark},
};
use crate::{entity::EntityKind, extraction::Mention};

/// Maximum number of characters before the subject of a sentence.
const BEFORE_SUBJECT_MAX_CHARS: usize = 2;

/// The names and aliases of entities, the longest first, each with the index of its entity.
pub(super) struct Names(Vec<(String, usize)>);

impl Names {
    pub(super) fn of(entities: &[Mention]) -> Self {
        let mut names = Vec::new();
        for (index, mention) in entities.iter().enumerate().take(MAX_MARKS) {
            names.extend([&mention.name].into_iter().chain(&mention.aliases).map(|name| (name.clone(), index)));
        }
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(names)
    }

    /// Returns the name at a byte of a text, with the index of its entity.
    fn at(&self, text: &str, at: usize) -> Option<(&str, usize)> {
        let is_here = |name: &str| text[at..].starts_with(name) && phrases::stands_alone(text, at, at + name.len());
        self.0.iter().find(|(name, _)| is_here(name)).map(|(name, index)| (name.as_str(), *index))
    }
}

/// A sentence with a mark in place of each name.
pub(super) struct MarkedSentence {
    pub(super) text: String,
    /// The index of the only person that a pronoun after this sentence may refer to.
    subject: Option<usize>,
}

impl MarkedSentence {
    /// Marks the names of a sentence, and the pronouns that can stand for one person only.
    pub(super) fn new(
        sentence: &str,
        names: &Names,
        entities: &[Mention],
        language: &LanguagePatterns,
        previous: Option<&Self>,
    ) -> Self {
        let mut text = String::with_capacity(sentence.len());
        let mut people = BTreeSet::new();
        let mut subject = None;
        let mut in_quotes = false;
        let mut at = 0;
        while let Some(c) = sentence[at..].chars().next() {
            if let Some((name, index)) = names.at(sentence, at)
                && let Some(mark) = mark(index)
            {
                while let Some(attribute) = language.attributes.find(&text) {
                    text.truncate(attribute.start());
                }
                if matches!(entities[index].kind, EntityKind::Person | EntityKind::Other) {
                    if people.is_empty() && text.chars().count() <= BEFORE_SUBJECT_MAX_CHARS {
                        subject = Some(index);
                    }
                    people.insert(index);
                }
                text.push(mark);
                at += name.len();
                continue;
            }
            in_quotes = match c {
                '“' | '「' => true,
                '”' | '」' => false,
                '"' => !in_quotes,
                _ => in_quotes,
            };
            let antecedent = if people.is_empty() { previous.and_then(|sentence| sentence.subject) } else { subject };
            let is_unambiguous = people.iter().all(|person| Some(*person) == antecedent);
            if let Some(antecedent) = antecedent.filter(|_| is_unambiguous && !in_quotes)
                && let Some((length, ending)) = pronoun_at(sentence, at, language)
                && !language.has_person_noun(&text)
                && let Some(mark) = mark(antecedent)
            {
                if people.is_empty() && text.chars().count() <= BEFORE_SUBJECT_MAX_CHARS {
                    subject = Some(antecedent);
                }
                people.insert(antecedent);
                text.push(mark);
                text.push_str(ending);
                at += length;
                continue;
            }
            text.push(c);
            at += c.len_utf8();
        }
        let has_one_person = people.len() == 1 && !language.has_person_noun(&text);
        Self { text, subject: subject.filter(|_| has_one_person) }
    }
}

/// Returns the length of the pronoun at a byte of a sentence, and the ending of the name that replaces it.
fn pronoun_at(sentence: &str, at: usize, language: &LanguagePatterns) -> Option<(usize, &'static str)> {
    for (pronouns, ending) in [(&language.pronouns, ""), (&language.possessives, language.possessive_ending())] {
        // The patterns are anchored, so that no position is searched to the end of the sentence.
        if let Some(found) = pronouns.find(&sentence[at..])
            && phrases::stands_alone(sentence, at, at + found.len())
            && !sentence[at + found.len()..].starts_with('们')
        {
            return Some((found.len(), ending));
        }
    }
    None
}
