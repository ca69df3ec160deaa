//! The extraction of entities and relations from one record.

mod normalise;

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
    /// Other names of it in the text.
    #[serde(default)]
    pub aliases: Vec<String>,
}

impl Mention {
    /// Creates a mention without aliases.
    pub fn new(name: impl Into<String>, kind: EntityKind) -> Self {
        Self { name: name.into(), kind, aliases: Vec::new() }
    }

    /// Adds an alias.
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
    /// The name of the entity at its start.
    pub source: String,
    /// The relation of the source to the target, such as `lives in`.
    pub relation: String,
    /// The name of the entity at its end.
    pub target: String,
    /// The time from which it holds, if the text states it.
    #[serde(default)]
    pub valid_from: Option<Timestamp>,
    /// The time until which it holds, if the text states it.
    #[serde(default)]
    pub valid_until: Option<Timestamp>,
    /// The rule that made it, [`RuleId::MODEL`] for a model; `None` for a relation that a caller made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
}

impl Relation {
    /// Creates a relation without validity times.
    pub fn new(source: impl Into<String>, relation: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            relation: relation.into(),
            target: target.into(),
            valid_from: None,
            valid_until: None,
            rule: None,
        }
    }

    /// Sets the rule that made the relation.
    #[must_use]
    pub fn with_rule(mut self, rule: RuleId) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Returns true if both are equal except for their rules.
    fn is_same_statement(&self, other: &Self) -> bool {
        let statement = |relation: &Self| Self { rule: None, ..relation.clone() };
        statement(self) == statement(other)
    }

    /// Sets the time from which it holds and the time until which it holds.
    #[must_use]
    pub fn valid(mut self, from: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        self.valid_from = from;
        self.valid_until = until;
        self
    }
}

/// Limits of the extraction from one text. A store accepts at most [`Extraction::MAX_ITEMS`] of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ExtractionLimits {
    /// Maximum number of entities. Default: 12.
    pub max_entities: usize,
    /// Maximum number of relations. Default: 16.
    pub max_edges: usize,
    /// Maximum number of aliases of an entity. Default: 8.
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
        self.max_entities = max_entities;
        self.max_edges = max_edges;
        self
    }
}

impl Extraction {
    /// Maximum length of a name, in bytes.
    pub const MAX_NAME_BYTES: usize = 256;
    /// Maximum length of a relation, in bytes.
    pub const MAX_RELATION_BYTES: usize = 128;
    /// Maximum number of entities, of relations, and of aliases of an entity that a store accepts.
    pub const MAX_ITEMS: usize = 512;

    /// Returns true if there are no entities. A valid extraction then has no relations either.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Checks that a store accepts the extraction.
    ///
    /// # Errors
    /// `InvalidInput` for a name or relation that is empty, too long or contains a control character; for two entities
    /// whose names are equal after folding; for a relation with an end that is no entity, with both ends on one entity,
    /// or that ends before it begins; and for more than [`MAX_ITEMS`](Self::MAX_ITEMS) entities, relations or aliases.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("graph", message));
        let max = Self::MAX_ITEMS;
        let entities = self.entities.len();
        let relations = self.relations.len();
        if entities > max || relations > max {
            let message = format!("a record has {entities} entities and {relations} relations; at most {max} of each");
            return invalid(message);
        }
        let mut known = BTreeSet::new();
        for mention in &self.entities {
            if mention.aliases.len() > max {
                return invalid(format!("an entity has {} aliases; at most {max}", mention.aliases.len()));
            }
            for name in [&mention.name].into_iter().chain(&mention.aliases) {
                check_text("name", name, Self::MAX_NAME_BYTES)?;
            }
            if !known.insert(fold(&mention.name)) {
                return invalid("two entities have the same name after folding; merge them".into());
            }
        }
        for relation in &self.relations {
            check_text("relation", &relation.relation, Self::MAX_RELATION_BYTES)?;
            let ends = [fold(&relation.source), fold(&relation.target)];
            if ends.iter().any(|end| !known.contains(end)) {
                return invalid("a relation has an end that is no entity; add it to the entities".into());
            }
            if ends[0] == ends[1] {
                return invalid("a relation has both ends on one entity; leave it out".into());
            }
            if matches!((relation.valid_from, relation.valid_until), (Some(from), Some(until)) if until < from) {
                return invalid(
                    "a relation ends before it begins; `valid_until` must not be before `valid_from`".into(),
                );
            }
        }
        Ok(())
    }
}

/// Checks the text of a name or a relation. `field` is its name in the error.
fn check_text(field: &str, text: &str, max_bytes: usize) -> Result<()> {
    let fault = if fold(text).is_empty() {
        "is empty; write at least one character".to_owned()
    } else if text.len() > max_bytes {
        format!("has {} bytes; at most {max_bytes}", text.len())
    } else if text.chars().any(char::is_control) {
        "contains a control character; remove it".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::invalid("graph", format!("a {field} {fault}")))
}
