//! Repairs an extraction.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use memory_engine_core::phrases::fold;
use memory_engine_rule_data::data;
use serde::Deserialize;

use super::{Extraction, ExtractionLimits, Mention, Relation};
use crate::{entity::EntityKind, titles, walk::groups::Groups};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeverNames {
    /// Folded.
    pronouns: HashSet<String>,
}

data!(NEVER_NAMES: NeverNames = "en/pronouns.toml", "zh/pronouns.toml");

impl Extraction {
    /// Repairs it strictly: what cannot be meant goes, and nothing is made up.
    ///
    /// Removes quotes, white space and titles before (`Dr.`) or after (`先生`) names of more than a family name; the
    /// name with the title stays as an alias. Merges entities with equal names, and those of which one has the
    /// other's name as an alias. Drops aliases shared by two entities, pronouns, relations without an entity at one
    /// end or with both ends on one entity, repeated relations, and what exceeds the limits, from the end. Applying
    /// it again changes nothing.
    #[must_use]
    pub fn settled(self, limits: &ExtractionLimits) -> Self {
        let mut mentions: Vec<Mention> = self.entities.into_iter().filter_map(plain).collect();
        let mut names = Names::of(&mentions);
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
            let Some(relation) = kept(relation, |name| names.resolve(name, &merged, limits)) else { continue };
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
struct Names {
    own: BTreeSet<String>,
    groups: Groups<String>,
    /// The place of each group among the merged mentions.
    places: BTreeMap<String, usize>,
}

impl Names {
    fn of(mentions: &[Mention]) -> Self {
        let own = mentions.iter().map(|mention| fold(&mention.name)).collect();
        let pairs: Vec<(String, String)> = mentions
            .iter()
            .flat_map(|mention| mention.aliases.iter().map(|alias| (fold(&mention.name), fold(alias))))
            .collect();
        Self { own, groups: Groups::of(pairs), places: BTreeMap::new() }
    }

    /// Drops the other names that several entities have: such a name identifies none of them.
    fn drop_shared_aliases(&self, mentions: &mut [Mention]) {
        for mention in mentions {
            let root = self.groups.root(&fold(&mention.name));
            mention.aliases.retain(|alias| self.groups.root(&fold(alias)) == root);
        }
    }

    /// Makes one mention of all that name the same entity.
    fn merge(&mut self, mentions: Vec<Mention>) -> Vec<Mention> {
        let mut merged: Vec<Mention> = Vec::new();
        for mention in mentions {
            let root = self.groups.root(&fold(&mention.name));
            match self.places.get(&root) {
                Some(at) => merge(&mut merged[*at], mention, &self.groups),
                None => {
                    self.places.insert(root, merged.len());
                    merged.push(mention);
                }
            }
        }
        merged
    }

    /// Returns the name that the entity of a relation is kept under, if it is kept.
    fn resolve(&self, name: &str, merged: &[Mention], limits: &ExtractionLimits) -> Option<String> {
        let key = fold(&name_of(name)?.0);
        let at = *self.places.get(&self.groups.root(&key))?;
        let known = self.own.contains(&key) || self.groups.claimants(&key).next().is_some();
        (known && at < limits.max_entities).then(|| merged[at].name.clone())
    }
}

/// A mention with names that can be kept, if it has one.
fn plain(mention: Mention) -> Option<Mention> {
    let (name, titled) = name_of(&mention.name)?;
    // Only people have titles.
    let kind = if titled.is_some() && mention.kind == EntityKind::Other { EntityKind::Person } else { mention.kind };
    let mut aliases: Vec<String> = titled.into_iter().collect();
    // Another name keeps its title: "Captain" before it may be what tells it apart.
    aliases.extend(mention.aliases.iter().filter_map(|alias| cleaned(alias)));
    Some(Mention { name, kind, aliases })
}

/// The name as it is kept, and as it was with a title, if it had one.
fn name_of(raw: &str) -> Option<(String, Option<String>)> {
    let name = cleaned(raw)?;
    match titles::without(&name).and_then(|bare| cleaned(&bare)) {
        Some(bare) => Some((bare, Some(name))),
        None => Some((name, None)),
    }
}

/// A name without what stands around it; nothing, when that is no name.
fn cleaned(raw: &str) -> Option<String> {
    let around = |c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '®' | '™' | ')' | '）');
    let words = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = words.trim_end_matches(around).trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = name.strip_suffix("'s").or_else(|| name.strip_suffix("’s")).unwrap_or(name);
    let fits = !name.is_empty() && name.len() <= Extraction::MAX_NAME_BYTES && !name.chars().any(char::is_control);
    (fits && !NEVER_NAMES.pronouns.contains(&fold(name))).then(|| name.to_owned())
}

/// The merged mention keeps the name that the other mention does not claim as an alias.
fn merge(into: &mut Mention, other: Mention, groups: &Groups<String>) {
    let (first, second) = (fold(&into.name), fold(&other.name));
    let mut other = other;
    if groups.is_claimed(&first) && !groups.is_claimed(&second) {
        std::mem::swap(&mut into.name, &mut other.name);
    }
    if into.kind == EntityKind::Other {
        into.kind = other.kind;
    }
    into.aliases.push(other.name);
    into.aliases.append(&mut other.aliases);
}

fn kept(raw: Relation, called: impl Fn(&str) -> Option<String>) -> Option<Relation> {
    let (source, target) = (called(&raw.source)?, called(&raw.target)?);
    // Marks that belong to a letter are no punctuation, and stay.
    let around =
        |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "，。；：、！？…—“”‘’「」『』《》（）".contains(c);
    let relation = fold(raw.relation.replace('_', " ").trim_matches(around));
    let fits = !relation.is_empty()
        && relation.len() <= Extraction::MAX_RELATION_BYTES
        && !relation.chars().any(char::is_control)
        && fold(&source) != fold(&target);
    let backwards = matches!((raw.valid_from, raw.valid_until), (Some(from), Some(until)) if until < from);
    let (valid_from, valid_until) = if backwards { (None, None) } else { (raw.valid_from, raw.valid_until) };
    fits.then_some(Relation { source, relation, target, valid_from, valid_until, rule: raw.rule })
}
