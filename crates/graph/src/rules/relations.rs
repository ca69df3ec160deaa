//! Reads the relations that sentences state, with patterns.

mod groups;
mod language;
mod marked;
mod marks;

use memory_engine_core::RuleId;
use memory_engine_text::Sentence;
use regex::Captures;

use crate::{
    entity::EntityKind,
    extraction::{Mention, Relation},
};
use groups::Group;
use language::{KindRule, LANGUAGES, LanguagePatterns};
use marked::{MarkedSentence, Names};

/// The relations that a text states, and the entities with the kinds that these relations show.
pub(super) struct StatedRelations {
    pub(super) entities: Vec<Mention>,
    pub(super) relations: Vec<Relation>,
}

/// Maximum length of a sentence, in bytes. A longer one, such as a text without punctuation, states no relation: the
/// patterns take seconds for some kilobytes of it.
const SENTENCE_MAX_BYTES: usize = 1_000;

/// Reads the relations between these entities that the sentences state. Questions, conditions, guesses and denials
/// state nothing.
pub(super) fn read(sentences: &[Sentence<'_>], entities: Vec<Mention>) -> StatedRelations {
    let is_short = |sentence: &&Sentence<'_>| sentence.body.len() <= SENTENCE_MAX_BYTES;
    let sentences: Vec<&Sentence<'_>> = sentences.iter().filter(is_short).collect();
    let names = Names::of(&entities);
    let mut found = StatedRelations { entities, relations: Vec::new() };
    for language in LANGUAGES.iter() {
        let marked_text =
            |sentence: &&Sentence<'_>| MarkedSentence::new(sentence.body, &names, &found.entities, language, None).text;
        let texts: Vec<String> = sentences.iter().map(marked_text).collect();
        found.set_kinds(&texts, language);
    }
    for language in LANGUAGES.iter() {
        let mut previous = None;
        let mut group = Group::default();
        for sentence in &sentences {
            let marked = MarkedSentence::new(sentence.body, &names, &found.entities, language, previous.as_ref());
            if !sentence.is_question() && !language.is_unreal(&marked.text) {
                for reading in groups::readings(marked.text.clone(), &group, language) {
                    found.read_sentence(&reading, language);
                }
            }
            group = Group::of(&marked.text, language);
            previous = Some(marked);
        }
    }
    found
}

impl StatedRelations {
    /// Sets the kinds of the entities that the words next to them show.
    fn set_kinds(&mut self, texts: &[String], language: &LanguagePatterns) {
        let mut is_set = vec![false; self.entities.len()];
        for kind_patterns in &language.kinds {
            let matches = texts
                .iter()
                .flat_map(|text| kind_patterns.patterns.iter().flat_map(move |pattern| pattern.captures_iter(text)));
            for captures in matches {
                let Some(index) = captures.name("x").and_then(|mark| marks::index_of(mark.as_str())) else {
                    continue;
                };
                let may_set = self.entities[index].kind == EntityKind::Other || kind_patterns.overrides;
                if may_set && !is_set[index] {
                    self.entities[index].kind = kind_patterns.kind;
                    is_set[index] = true;
                }
            }
        }
    }

    /// Adds the relations that a sentence with marks states.
    fn read_sentence(&mut self, text: &str, language: &LanguagePatterns) {
        for pattern in &language.patterns {
            for captures in pattern.regex.captures_iter(text) {
                if is_stated(text, &captures, language) {
                    self.add(&captures, &pattern.relation, &pattern.kinds, &pattern.id, false);
                }
            }
        }
        for regex in &language.role_patterns {
            for captures in regex.captures_iter(text) {
                let Some(role) = captures.name("role").and_then(|word| language.role(word.as_str())) else { continue };
                if is_stated(text, &captures, language) {
                    let relation = language.role_relation(&captures["role"]);
                    self.add(&captures, &relation, &role.kinds, &role.id, language.role_leads_from_y);
                }
            }
        }
    }

    /// Adds a relation from `x` to `y`, or the other way round, if their kinds allow it.
    fn add(&mut self, captures: &Captures<'_>, relation: &str, kinds: &KindRule, id: &str, from_y: bool) {
        let entity_index = |group: &str| captures.name(group).and_then(|mark| marks::index_of(mark.as_str()));
        let (Some(x), Some(y)) = (entity_index("x"), entity_index("y")) else { return };
        let (source, target) = if from_y { (y, x) } else { (x, y) };
        if source == target || !kinds.allow(self.entities[source].kind, self.entities[target].kind) {
            return;
        }
        for (entity, kind) in [(source, kinds.source), (target, kinds.target)] {
            if self.entities[entity].kind == EntityKind::Other {
                self.entities[entity].kind = kind.unwrap_or_default();
            }
        }
        let Ok(rule) = RuleId::new(id.to_owned()) else { return };
        let relation =
            Relation::new(&self.entities[source].name, relation, &self.entities[target].name).with_rule(rule);
        if !self.relations.contains(&relation) {
            self.relations.push(relation);
        }
    }
}

/// Returns false if the words around a match deny it or give it another subject.
fn is_stated(text: &str, captures: &Captures<'_>, language: &LanguagePatterns) -> bool {
    let Some(whole) = captures.get(0) else { return false };
    let before = &text[..whole.start()];
    let after = &text[whole.end()..];
    let clause = before.rsplit(['，', ',', ';', '；', '“', '"', '：', ':']).next().unwrap_or_default();
    if language.is_denied(clause) || language.is_denied(whole.as_str()) {
        return false;
    }
    // "the brother of Mira joined": the subject is not Mira.
    let starts_with_name = whole.as_str().chars().next().is_some_and(marks::is_mark);
    let is_genitive = whole.as_str().chars().nth(1).is_some_and(|c| matches!(c, '\'' | '’' | '的'));
    if starts_with_name && !is_genitive && language.continues_phrase(before) {
        return false;
    }
    // "Tobin's sister, Mira, and Jon" may be a list.
    let has_comma = whole.as_str().contains(", ");
    !(has_comma && language.continues_list(after))
}

#[cfg(test)]
mod tests;
