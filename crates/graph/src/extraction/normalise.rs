//! Normalises an extraction: cleans its names, merges its entities and drops what is invalid.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use memory_engine_core::phrases::fold;
use memory_engine_text::data;
use serde::Deserialize;

use super::{Extraction, ExtractionLimits, Mention, Relation};
use crate::{entity::EntityKind, titles, walk::groups::Groups};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NonNames {
    /// Folded.
    pronouns: HashSet<String>,
}

data!(NON_NAMES: NonNames = "en/pronouns.toml", "zh/pronouns.toml");

impl Extraction {
    /// Returns a valid extraction with clean names and merged entities. Adds no entity and no relation.
    ///
    /// - Removes quotes and surplus white space from names, and titles before (`Dr.`) or after (`先生`) names that are
    ///   more than a family name. The name with its title stays as an alias.
    /// - Merges entities with equal names, and those of which one has the other's name as an alias.
    /// - Drops pronouns, aliases that two entities share, relations without an entity at one end or with both ends on
    ///   one entity, and repeated relations.
    /// - Truncates the lists of entities, relations and aliases to the limits.
    ///
    /// Applying it again changes nothing.
    #[must_use]
    pub fn normalised(self, limits: &ExtractionLimits) -> Self {
        let mut mentions: Vec<Mention> = self.entities.into_iter().filter_map(clean_mention).collect();
        let mut names = EntityNames::of(&mentions);
        names.drop_shared_aliases(&mut mentions);
        let mut merged = names.merge(mentions);
        for mention in &mut merged {
            let mut seen = BTreeSet::from([fold(&mention.name)]);
            mention.aliases.retain(|alias| seen.insert(fold(alias)));
            mention.aliases.truncate(limits.max_aliases.min(Extraction::MAX_ITEMS));
        }
        // Names are resolved before anything is cut off.
        let mut relations: Vec<Relation> = Vec::new();
        for relation in self.relations {
            let Some(relation) = clean_relation(relation, |name| names.resolve(name, &merged, limits)) else {
                continue;
            };
            if !relations.iter().any(|known| known.is_same_statement(&relation)) {
                relations.push(relation);
            }
        }
        relations.truncate(limits.max_edges.min(Extraction::MAX_ITEMS));
        merged.truncate(limits.max_entities.min(Extraction::MAX_ITEMS));
        Extraction { entities: merged, relations }
    }
}

/// The names of the entities of an extraction, folded.
struct EntityNames {
    /// The names of the entities, without aliases.
    own: BTreeSet<String>,
    groups: Groups<String>,
    /// The index of each group in the merged mentions, by its root.
    indexes: BTreeMap<String, usize>,
}

impl EntityNames {
    fn of(mentions: &[Mention]) -> Self {
        let own = mentions.iter().map(|mention| fold(&mention.name)).collect();
        let pairs: Vec<(String, String)> = mentions
            .iter()
            .flat_map(|mention| mention.aliases.iter().map(|alias| (fold(&mention.name), fold(alias))))
            .collect();
        Self { own, groups: Groups::of(pairs), indexes: BTreeMap::new() }
    }

    /// Drops the aliases that several entities have: such a name identifies none of them.
    fn drop_shared_aliases(&self, mentions: &mut [Mention]) {
        for mention in mentions {
            let root = self.groups.root(&fold(&mention.name));
            mention.aliases.retain(|alias| self.groups.root(&fold(alias)) == root);
        }
    }

    /// Merges the mentions of each group into one.
    fn merge(&mut self, mentions: Vec<Mention>) -> Vec<Mention> {
        let mut merged: Vec<Mention> = Vec::new();
        for mention in mentions {
            let root = self.groups.root(&fold(&mention.name));
            match self.indexes.get(&root) {
                Some(index) => merge_mention(&mut merged[*index], mention, &self.groups),
                None => {
                    self.indexes.insert(root, merged.len());
                    merged.push(mention);
                }
            }
        }
        merged
    }

    /// Returns the name of the merged entity that a name in a relation stands for, if it is within the limits.
    fn resolve(&self, name: &str, merged: &[Mention], limits: &ExtractionLimits) -> Option<String> {
        let (bare, _) = split_title(name)?;
        let key = fold(&bare);
        let index = *self.indexes.get(&self.groups.root(&key))?;
        let is_known = self.own.contains(&key) || self.groups.claimants(&key).next().is_some();
        (is_known && index < limits.max_entities).then(|| merged[index].name.clone())
    }
}

/// Returns a mention with clean names; `None` if its name is invalid.
fn clean_mention(mention: Mention) -> Option<Mention> {
    let (name, titled) = split_title(&mention.name)?;
    // Only people have titles.
    let kind = if titled.is_some() && mention.kind == EntityKind::Other { EntityKind::Person } else { mention.kind };
    let mut aliases: Vec<String> = titled.into_iter().collect();
    // An alias keeps its title, which may be what distinguishes it: "Captain Holt".
    aliases.extend(mention.aliases.iter().filter_map(|alias| clean_name(alias)));
    Some(Mention { name, kind, aliases })
}

/// Returns a clean name without its title, and the name with the title if it had one.
fn split_title(raw: &str) -> Option<(String, Option<String>)> {
    let name = clean_name(raw)?;
    match titles::strip(&name).and_then(|bare| clean_name(&bare)) {
        Some(bare) => Some((bare, Some(name))),
        None => Some((name, None)),
    }
}

/// Returns a name without punctuation around it, surplus white space and a genitive `'s`; `None` if nothing valid is
/// left.
fn clean_name(raw: &str) -> Option<String> {
    let is_surrounding = |c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '®' | '™' | ')' | '）');
    let words = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = words.trim_end_matches(is_surrounding).trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
    let is_valid = !name.is_empty() && name.len() <= Extraction::MAX_NAME_BYTES && !name.chars().any(char::is_control);
    (is_valid && !NON_NAMES.pronouns.contains(&fold(name))).then(|| name.to_owned())
}

/// Merges a mention into another one of the same entity. The name of the result is one that is no alias, if there is
/// one.
fn merge_mention(into: &mut Mention, mut other: Mention, groups: &Groups<String>) {
    if groups.is_claimed(&fold(&into.name)) && !groups.is_claimed(&fold(&other.name)) {
        std::mem::swap(&mut into.name, &mut other.name);
    }
    if into.kind == EntityKind::Other {
        into.kind = other.kind;
    }
    into.aliases.push(other.name);
    into.aliases.append(&mut other.aliases);
}

/// Returns a relation between the entities that `resolve` finds, with a folded text; `None` if it is invalid.
fn clean_relation(raw: Relation, resolve: impl Fn(&str) -> Option<String>) -> Option<Relation> {
    let source = resolve(&raw.source)?;
    let target = resolve(&raw.target)?;
    // Only these characters are removed: combining marks of other scripts belong to their letters.
    let is_surrounding =
        |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "，。；：、！？…—“”‘’「」『』《》（）".contains(c);
    let relation = fold(raw.relation.replace('_', " ").trim_matches(is_surrounding));
    let is_valid = !relation.is_empty()
        && relation.len() <= Extraction::MAX_RELATION_BYTES
        && !relation.chars().any(char::is_control)
        && fold(&source) != fold(&target);
    let ends_before_start = matches!((raw.valid_from, raw.valid_until), (Some(from), Some(until)) if until < from);
    let valid_from = raw.valid_from.filter(|_| !ends_before_start);
    let valid_until = raw.valid_until.filter(|_| !ends_before_start);
    is_valid.then_some(Relation { source, relation, target, valid_from, valid_until, rule: raw.rule })
}
