//! Extractions as rows: stores save them, and walks read them.

use memory_engine_core::{Cursor, RemovalCounts, RuleId, Timestamp, phrases::fold};

use crate::{
    entity::{EntityId, EntityKind},
    store::GraphEntry,
};

/// That a record mentions an entity.
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
    /// The record and its place in time.
    pub record: Cursor,
}

/// That a record calls an entity something else, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AliasRow {
    /// The entity.
    pub entity: EntityId,
    /// The entity with the alias as its name.
    pub alias: EntityId,
    /// The other name, as the record spells it.
    pub name: String,
}

/// That a record says how two entities are related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeRow {
    /// From.
    pub source: EntityId,
    /// The relation.
    pub relation: String,
    /// To.
    pub target: EntityId,
    /// From when on: what the relation says itself, else what the record as a whole says.
    pub valid_from: Option<Timestamp>,
    /// Until when, likewise.
    pub valid_until: Option<Timestamp>,
    /// The rule that made the relation; [`RuleId::MODEL`] for a model, nothing for a relation that a caller made.
    pub rule: Option<RuleId>,
    /// The record and its place in time.
    pub record: Cursor,
}

impl EdgeRow {
    /// Returns true if both state the same, whichever rule made them.
    fn is_same_statement(&self, other: &Self) -> bool {
        let statement = |row: &Self| Self { rule: None, ..row.clone() };
        statement(self) == statement(other)
    }
}

/// All that one record says.
///
/// The validity of its edges is what the relations say themselves: a store that keeps them fills in the record's when
/// it reads, since a record may come to be valid otherwise later ([`Rows::filled`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Each entity once.
    pub mentions: Vec<MentionRow>,
    /// Each other name of an entity once.
    pub aliases: Vec<AliasRow>,
    /// Each relation once.
    pub edges: Vec<EdgeRow>,
}

impl Rows {
    /// Those of an entry whose extraction [is valid](crate::Extraction::validate).
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

    /// Returns the rows with the record's validity filled in, for a store whose records only change through it.
    pub fn whole(entry: &GraphEntry) -> Self {
        let mut rows = Self::of(entry);
        let (from, until) = (entry.record.valid_from, entry.record.valid_until);
        rows.edges = rows.edges.into_iter().map(|edge| Self::filled(edge, from, until)).collect();
        rows
    }

    /// Returns the numbers of rows that are removed with the record.
    pub fn counted(&self) -> RemovalCounts {
        let mut removed = RemovalCounts::default();
        removed.mentions = self.mentions.len() as u64;
        removed.aliases = self.aliases.len() as u64;
        removed.relations = self.edges.len() as u64;
        removed
    }

    /// An edge with the record's own validity where it says nothing of its own.
    pub fn filled(mut edge: EdgeRow, valid_from: Option<Timestamp>, valid_until: Option<Timestamp>) -> EdgeRow {
        if edge.valid_from.is_none() && edge.valid_until.is_none() {
            (edge.valid_from, edge.valid_until) = (valid_from, valid_until);
        }
        edge
    }
}
