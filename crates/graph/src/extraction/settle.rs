//! Putting an extraction right.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::phrases::fold;

use super::{Extraction, ExtractionLimits, Mention, Relation};
use crate::{EntityKind, rules::titles, walk::Groups};

/// What is never a name, folded.
const PRONOUNS: &str = "i me my you your he him his she her it its we us our they them their this that these those who \
    someone somebody everyone everybody nobody something user assistant narrator speaker 我 你 您 他 她 它 咱 我们 你们 您们 \
    他们 她们 它们 咱们 自己 大家 别人 有人 某人 这 那 这个 那个 谁 用户 助手 旁白";

pub(super) fn settle(raw: Extraction, limits: &ExtractionLimits) -> Extraction {
    let mut mentions: Vec<Mention> = raw.entities.into_iter().filter_map(plain).collect();
    let own: BTreeSet<String> = mentions.iter().map(|mention| fold(&mention.name)).collect();
    let pairs: Vec<(String, String)> = mentions
        .iter()
        .flat_map(|mention| mention.aliases.iter().map(|alias| (fold(&mention.name), fold(alias))))
        .collect();
    let groups = Groups::of(pairs);
    // Another name of several that are not one tells nobody apart.
    for mention in &mut mentions {
        let root = groups.root(&fold(&mention.name));
        mention.aliases.retain(|alias| groups.root(&fold(alias)) == root);
    }
    let mut merged: Vec<Mention> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for mention in mentions {
        let root = groups.root(&fold(&mention.name));
        match places.get(&root) {
            Some(at) => merge(&mut merged[*at], mention, &groups),
            None => {
                places.insert(root, merged.len());
                merged.push(mention);
            }
        }
    }
    for mention in &mut merged {
        let mut seen = BTreeSet::from([fold(&mention.name)]);
        mention.aliases.retain(|alias| seen.insert(fold(alias)));
        mention.aliases.truncate(limits.max_aliases.min(Extraction::MAX_ITEMS));
    }
    // Names are known by what they were before anything was cut off.
    let called = |name: &str| {
        let name = name_of(name)?.0;
        let key = fold(&name);
        let at = places.get(&groups.root(&key))?;
        let known = own.contains(&key) || groups.claimants(&key).next().is_some();
        (known && *at < limits.max_entities).then(|| merged[*at].name.clone())
    };
    let mut relations: Vec<Relation> = Vec::new();
    for relation in raw.relations {
        let Some(relation) = kept(relation, &called) else { continue };
        if !relations.contains(&relation) {
            relations.push(relation);
        }
    }
    relations.truncate(limits.max_edges.min(Extraction::MAX_ITEMS));
    merged.truncate(limits.max_entities.min(Extraction::MAX_ITEMS));
    Extraction { entities: merged, relations }
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
    (fits && !PRONOUNS.split_whitespace().any(|pronoun| pronoun == fold(name))).then(|| name.to_owned())
}

/// The mention goes by the name that the other one does not claim.
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

fn kept(raw: Relation, called: &impl Fn(&str) -> Option<String>) -> Option<Relation> {
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
    fits.then_some(Relation { source, relation, target, valid_from, valid_until })
}
