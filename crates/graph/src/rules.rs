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

/// Maximum number of entities of a sentence that are related to each other. A longer list says nothing about any two.
const MAX_RELATED_ENTITIES: usize = 5;

/// Finds entities by rules, in Chinese and English, and relates those of one sentence.
///
/// Entities are those of [`Record::entities`]; works in `《》`; names after a verb of naming ("名叫小石头"); English names,
/// by their capitals and titles (at the beginning of a sentence only when they also stand inside another one); Chinese
/// names by surname and title (`王医生`) or by surname when they occur twice; and places and organisations by their
/// endings (`市`, `山`, `公司` …). It prefers missing a name to inventing one. It never fails.
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
        let mut mentions: Vec<Mention> = known.iter().map(|name| Mention::new(name, kind_of(name))).collect();
        mentions.extend(names(text).map(|(_, mention)| mention));
        let doubtful = english::doubtful_names(text);
        mentions.extend(doubtful.iter().map(|name| Mention::new(name, EntityKind::Other)));
        let limits = ExtractionLimits { max_entities: Extraction::MAX_ITEMS, ..self.limits };
        let entities = Extraction { entities: mentions, relations: Vec::new() }.normalised(&limits).entities;
        let sentences = sentences::of(text);
        let relations::StatedRelations { mut entities, mut relations } = relations::stated(&sentences, entities);
        // What the text says of a doubtful name shows whether it is one.
        let is_related = |name: &String| relations.iter().any(|known| [&known.source, &known.target].contains(&name));
        entities.retain(|mention| {
            mention.kind == EntityKind::Person || is_related(&mention.name) || !doubtful.contains(&mention.name)
        });
        entities.truncate(self.limits.max_entities);
        let stated = relations.len();
        for sentence in sentences {
            relations.extend(co_occurrences(sentence.text, &entities));
        }
        // Two entities with a stated relation need no weaker one.
        let (stated, weak) = relations.split_at(stated);
        let is_new = |weak: &&Relation| !stated.iter().any(|relation| has_same_ends(relation, weak));
        let relations = stated.iter().chain(weak.iter().filter(is_new)).cloned().collect();
        Extraction { entities, relations }.normalised(&self.limits)
    }
}

/// Returns true if two relations have the same ends, in any direction.
fn has_same_ends(one: &Relation, other: &Relation) -> bool {
    let same = one.source == other.source && one.target == other.target;
    same || (one.source == other.target && one.target == other.source)
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
fn kind_of(name: &str) -> EntityKind {
    let by_chinese = chinese::kind_of(name);
    if by_chinese == EntityKind::Other { english::kind_of(name) } else { by_chinese }
}

#[cfg(test)]
mod tests;
