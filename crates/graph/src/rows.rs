//! Extractions as rows, which stores save and walks read.

use memory_engine_core::{Cursor, RemovalCounts, RuleId, Timestamp, phrases::fold};

use crate::{
    entity::{EntityId, EntityKind},
    store::GraphEntry,
};

/// A mention of an entity in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionRow {
    /// The entity.
    pub entity: EntityId,
    /// Its name, as the record spells it.
    pub name: String,
    /// The kind in this record.
    pub kind: EntityKind,
    /// Number of visible records that mention it.
    pub total: u64,
    /// The record and its position in time.
    pub record: Cursor,
}

/// An alias that a record gives an entity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AliasRow {
    /// The entity.
    pub entity: EntityId,
    /// The id of the entity that would have the alias as its name.
    pub alias: EntityId,
    /// The alias, as the record spells it.
    pub name: String,
}

/// A relation that a record states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeRow {
    /// The entity at its start.
    pub source: EntityId,
    /// The relation.
    pub relation: String,
    /// The entity at its end.
    pub target: EntityId,
    /// The time from which it holds: that of the relation; if the relation has no times, that of the record.
    pub valid_from: Option<Timestamp>,
    /// The time until which it holds, with the same fallback.
    pub valid_until: Option<Timestamp>,
    /// The rule that made it, [`RuleId::MODEL`] for a model; `None` for a relation that a caller made.
    pub rule: Option<RuleId>,
    /// The record and its position in time.
    pub record: Cursor,
}

impl EdgeRow {
    /// Returns true if both are equal except for their rules.
    fn is_same_statement(&self, other: &Self) -> bool {
        let statement = |row: &Self| Self { rule: None, ..row.clone() };
        statement(self) == statement(other)
    }
}

/// The rows of one record.
///
/// The edges of [`GraphRows::of`] have only the times of the relations. A store that saves them adds the times of the
/// record when it reads them ([`GraphRows::with_record_times`]), because the record may change later.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GraphRows {
    /// Each entity once.
    pub mentions: Vec<MentionRow>,
    /// Each alias of an entity once.
    pub aliases: Vec<AliasRow>,
    /// Each relation once.
    pub edges: Vec<EdgeRow>,
}

impl GraphRows {
    /// Returns the rows of an entry whose extraction [is valid](crate::Extraction::validate).
    pub fn of(entry: &GraphEntry) -> Self {
        let record = Cursor::at(&entry.record);
        let id = |name: &str| EntityId::of(&entry.record.scope, name);
        let mut rows = Self::default();
        for mention in &entry.extraction.entities {
            let entity = id(&mention.name);
            rows.mentions.push(MentionRow { entity, name: mention.name.clone(), kind: mention.kind, total: 1, record });
            for name in &mention.aliases {
                let row = AliasRow { entity, alias: id(name), name: name.clone() };
                let known = |old: &AliasRow| (old.entity, old.alias) == (row.entity, row.alias);
                if row.alias != entity && !rows.aliases.iter().any(known) {
                    rows.aliases.push(row);
                }
            }
        }
        for relation in &entry.extraction.relations {
            let row = EdgeRow {
                source: id(&relation.source),
                relation: fold(&relation.relation),
                target: id(&relation.target),
                valid_from: relation.valid_from,
                valid_until: relation.valid_until,
                rule: relation.rule.clone(),
                record,
            };
            if !rows.edges.iter().any(|known| known.is_same_statement(&row)) {
                rows.edges.push(row);
            }
        }
        rows
    }

    /// Returns the rows, with the times of the record for relations without times. For a store that writes the rows
    /// again when the record changes.
    pub fn of_with_record_times(entry: &GraphEntry) -> Self {
        let mut rows = Self::of(entry);
        let from = entry.record.valid_from;
        let until = entry.record.valid_until;
        rows.edges = rows.edges.into_iter().map(|edge| Self::with_record_times(edge, from, until)).collect();
        rows
    }

    /// Returns the numbers of rows that are removed with the record.
    pub fn removal_counts(&self) -> RemovalCounts {
        let mut removed = RemovalCounts::default();
        removed.mentions = self.mentions.len() as u64;
        removed.aliases = self.aliases.len() as u64;
        removed.relations = self.edges.len() as u64;
        removed
    }

    /// Returns an edge with the times of its record if it has none itself.
    pub fn with_record_times(
        mut edge: EdgeRow,
        valid_from: Option<Timestamp>,
        valid_until: Option<Timestamp>,
    ) -> EdgeRow {
        if edge.valid_from.is_none() && edge.valid_until.is_none() {
            edge.valid_from = valid_from;
            edge.valid_until = valid_until;
        }
        edge
    }
}
