//! Extracts entities and relations by rules, without a model.

mod chinese;
mod english;
mod relations;
mod sentences;

use async_trait::async_trait;
use memory_engine_core::{Record, Result, RuleId, phrases};

use crate::{
    entity::EntityKind,
    extraction::{Extraction, ExtractionLimits, Mention, Relation},
    extractor::GraphExtractor,
};

/// The relation between two entities of one sentence. It has no direction: its source is the name that sorts first, so
/// that the same two entities are always one edge.
pub const CO_OCCURS: &str = "appears with";

/// The rule that relates the entities of one sentence.
const CO_OCCURRENCE_RULE: RuleId = RuleId::from_static("sentence.co-occurs");

/// Maximum number of entities of a sentence that are related to each other. A longer list is no evidence for a relation
/// of two of them.
const MAX_RELATED_ENTITIES: usize = 5;

/// Maximum length of the beginning of a text that is read, in bytes. The rest has no entities of its own.
const TEXT_MAX_BYTES: usize = 20_000;

/// Finds entities by rules, in Chinese and English, and relates those of one sentence.
///
/// It finds these entities:
///
/// - those of [`Record::entities`];
/// - works in `《》`, and names after a verb of naming ("名叫小石头");
/// - English names by capitals and titles; the first word of a sentence only if it is also a name inside another one;
/// - Chinese names by surname and title (`王医生`), or by surname if they occur twice;
/// - places and organisations by their endings (`市`, `山`, `公司` …).
///
/// Of a long text it reads the first 20 000 bytes, and relations of sentences of at most 2000 bytes. Precision has
/// priority over recall. It never fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleExtractor {
    limits: ExtractionLimits,
}

impl RuleExtractor {
    /// Sets the limits of the extraction from one record.
    #[must_use]
    pub fn with_limits(mut self, limits: ExtractionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the entities and relations of a text. `known` are entities that the text is known to name.
    pub fn read(&self, text: &str, known: &[String]) -> Extraction {
        let text = beginning(text);
        let mut mentions: Vec<Mention> = known.iter().map(|name| Mention::new(name, kind_from_name(name))).collect();
        mentions.extend(names(text).map(|(_, mention)| mention));
        let doubtful = english::doubtful_names(text);
        mentions.extend(doubtful.iter().map(|name| Mention::new(name, EntityKind::Other)));
        let limits = ExtractionLimits { max_entities: Extraction::MAX_ITEMS, ..self.limits };
        let entities = Extraction { entities: mentions, relations: Vec::new() }.normalised(&limits).entities;
        let sentences = sentences::split(text);
        let relations::StatedRelations { mut entities, mut relations } = relations::read(&sentences, entities);
        // A doubtful name is kept if it is known, a person, or the end of a stated relation.
        let is_related = |name: &String| relations.iter().any(|known| [&known.source, &known.target].contains(&name));
        entities.retain(|mention| {
            let is_doubtful = doubtful.contains(&mention.name) && !known.contains(&mention.name);
            mention.kind == EntityKind::Person || is_related(&mention.name) || !is_doubtful
        });
        entities.truncate(self.limits.max_entities);
        // Two entities with a stated relation are not related by co-occurrence, too.
        let weak: Vec<Relation> = sentences
            .iter()
            .flat_map(|sentence| co_occurrences(sentence.body, &entities))
            .filter(|weak| !relations.iter().any(|stated| has_same_ends(stated, weak)))
            .collect();
        relations.extend(weak);
        Extraction { entities, relations }.normalised(&self.limits)
    }
}

/// Returns the part of a text that is read.
fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(TEXT_MAX_BYTES)).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

/// Returns true if two relations have the same ends, in any direction.
fn has_same_ends(one: &Relation, other: &Relation) -> bool {
    let is_same_direction = one.source == other.source && one.target == other.target;
    let is_opposite_direction = one.source == other.target && one.target == other.source;
    is_same_direction || is_opposite_direction
}

#[async_trait]
impl GraphExtractor for RuleExtractor {
    async fn extract(&self, record: &Record) -> Result<Extraction> {
        Ok(self.read(&record.text, &record.entities))
    }
}

/// Returns the names in a text, each with the id of the rule that found it.
fn names(text: &str) -> impl Iterator<Item = (&'static str, Mention)> {
    english::names(text).into_iter().chain(chinese::names(text))
}

/// Relates the entities that a sentence names.
fn co_occurrences(sentence: &str, entities: &[Mention]) -> Vec<Relation> {
    let folded = phrases::fold(sentence);
    let mut named: Vec<&Mention> = entities.iter().filter(|mention| is_named(mention, &folded)).collect();
    if named.len() > MAX_RELATED_ENTITIES {
        return Vec::new();
    }
    named.sort_by_key(|mention| phrases::fold(&mention.name));
    let mut relations = Vec::new();
    for (n, first) in named.iter().enumerate() {
        for other in &named[n + 1..] {
            relations.push(Relation::new(&first.name, CO_OCCURS, &other.name).with_rule(CO_OCCURRENCE_RULE));
        }
    }
    relations
}

fn is_named(mention: &Mention, folded: &str) -> bool {
    [&mention.name].into_iter().chain(&mention.aliases).any(|name| {
        let name = phrases::fold(name);
        folded.match_indices(&name).any(|(start, found)| phrases::stands_alone(folded, start, start + found.len()))
    })
}

/// Returns the kind of entity that a name by itself shows.
fn kind_from_name(name: &str) -> EntityKind {
    let chinese_kind = chinese::kind_from_name(name);
    if chinese_kind == EntityKind::Other { english::kind_from_name(name) } else { chinese_kind }
}

#[cfg(test)]
mod tests;
