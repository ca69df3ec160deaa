//! The extraction of entities and relations from one record.

mod settle;

use std::collections::BTreeSet;

use memory_engine_core::{Error, Result, RuleId, Timestamp, phrases::fold};
use serde::{Deserialize, Serialize};

use crate::entity::EntityKind;

/// The entities and relations of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// The entities that it names.
    #[serde(default)]
    pub entities: Vec<Mention>,
    /// The relations between them.
    #[serde(default)]
    pub relations: Vec<Relation>,
}

/// An entity that a text names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mention {
    /// The name in the text.
    pub name: String,
    /// The kind.
    #[serde(default)]
    pub kind: EntityKind,
    /// Other names in the text.
    #[serde(default)]
    pub aliases: Vec<String>,
}

impl Mention {
    /// An entity with no other name.
    pub fn new(name: impl Into<String>, kind: EntityKind) -> Self {
        Self { name: name.into(), kind, aliases: Vec::new() }
    }

    /// Called so, too.
    #[must_use]
    pub fn with_alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }
}

/// A relation that a text states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// The name of the entity that it goes out from.
    pub source: String,
    /// The relation of the source to the target, such as `lives in`.
    pub relation: String,
    /// The name of the other entity.
    pub target: String,
    /// From when on it holds, if the text says so.
    #[serde(default)]
    pub valid_from: Option<Timestamp>,
    /// Until when it held, if the text says so.
    #[serde(default)]
    pub valid_until: Option<Timestamp>,
    /// The rule that made it; [`RuleId::MODEL`] for a model, nothing for a relation that a caller made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
}

impl Relation {
    /// A relation of which nothing about time is known.
    pub fn new(source: impl Into<String>, relation: impl Into<String>, target: impl Into<String>) -> Self {
        let (source, relation, target) = (source.into(), relation.into(), target.into());
        Self { source, relation, target, valid_from: None, valid_until: None, rule: None }
    }

    /// Sets the rule that made the relation.
    #[must_use]
    pub fn with_rule(mut self, rule: RuleId) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Returns true if both state the same, whichever rule made them.
    fn is_same_statement(&self, other: &Self) -> bool {
        let statement = |relation: &Self| Self { rule: None, ..relation.clone() };
        statement(self) == statement(other)
    }

    /// One that holds from a time on, before another.
    #[must_use]
    pub fn valid(mut self, from: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        (self.valid_from, self.valid_until) = (from, until);
        self
    }
}

/// Limits of the extraction from one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ExtractionLimits {
    /// Maximum number of entities.
    pub max_entities: usize,
    /// Maximum number of relations.
    pub max_edges: usize,
    /// Maximum number of aliases of an entity.
    pub max_aliases: usize,
}

impl Default for ExtractionLimits {
    fn default() -> Self {
        Self { max_entities: 12, max_edges: 16, max_aliases: 8 }
    }
}

impl ExtractionLimits {
    /// Sets the maximum numbers of entities and relations.
    #[must_use]
    pub fn with_sizes(mut self, max_entities: usize, max_edges: usize) -> Self {
        (self.max_entities, self.max_edges) = (max_entities, max_edges);
        self
    }
}

impl Extraction {
    /// The longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;
    /// The longest relation, in bytes.
    pub const MAX_RELATION_BYTES: usize = 128;
    /// The most entities, relations, or other names of an entity that a store takes.
    pub const MAX_ITEMS: usize = 512;

    /// Returns true if there are no entities and no relations.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Refuses what no store keeps.
    ///
    /// # Errors
    /// `InvalidInput` for a name or relation that is empty, too long or holds a control character; for two entities
    /// whose names read the same; for a relation with an end that is no entity, or with both ends on one, or that ends
    /// before it begins; and for too many.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid("graph", message));
        let most = Self::MAX_ITEMS;
        if self.entities.len() > most || self.relations.len() > most {
            let (entities, relations) = (self.entities.len(), self.relations.len());
            return wrong(format!("{entities} entities and {relations} relations of one record; {most} are the most"));
        }
        let mut known = BTreeSet::new();
        for mention in &self.entities {
            if mention.aliases.len() > most {
                return wrong(format!("an entity has {} other names; {most} are the most", mention.aliases.len()));
            }
            for name in [&mention.name].into_iter().chain(&mention.aliases) {
                check("name", name, Self::MAX_NAME_BYTES)?;
            }
            if !known.insert(fold(&mention.name)) {
                return wrong("two entities have names that read the same; make them one".into());
            }
        }
        for relation in &self.relations {
            check("relation", &relation.relation, Self::MAX_RELATION_BYTES)?;
            let ends = [fold(&relation.source), fold(&relation.target)];
            if ends.iter().any(|end| !known.contains(end)) {
                return wrong("a relation has an end that is no entity; name it among the entities".into());
            }
            if ends[0] == ends[1] {
                return wrong("a relation has both ends on one entity; leave it out".into());
            }
            if matches!((relation.valid_from, relation.valid_until), (Some(from), Some(until)) if until < from) {
                return wrong("a relation ends before it begins".into());
            }
        }
        Ok(())
    }
}

fn check(what: &str, text: &str, most: usize) -> Result<()> {
    let fault = if fold(text).is_empty() {
        "is empty; write at least one character".to_owned()
    } else if text.len() > most {
        format!("has {} bytes; {most} are the most", text.len())
    } else if text.chars().any(char::is_control) {
        "holds a control character; leave it out".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::invalid("graph", format!("a {what} {fault}")))
}
