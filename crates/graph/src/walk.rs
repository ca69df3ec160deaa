//! The graph walk that every store uses.
//!
//! Reasons: `docs/design/decisions/0017-graph-is-derived-from-records.md`.

mod finish;
pub(crate) mod groups;
mod in_memory;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Cursor, Scope};

use crate::{
    entity::EntityId,
    query::{GraphQuery, Seeds},
    rows::{AliasRow, EdgeRow, MentionRow},
};
use groups::Groups;

/// A breadth-first walk through a graph, as a state machine: [`Walk::next`] returns a request for rows, the caller
/// provides the rows, and so on until the walk is done. [`Walk::finish`] then returns the result.
///
/// It is independent of any database. The caller provides only rows of active records that the reader sees and that
/// match the filter of the query, so that all stores return the same results.
///
/// [`Walk::over`] runs the whole walk for a store with its rows in memory:
///
/// ```
/// # use memory_engine_core::Scope;
/// # use memory_engine_graph::{GraphQuery, Walk};
/// let lin = Scope::user("lin")?;
/// assert!(Walk::over(&lin, &GraphQuery::of(["Anna"]), &[]).is_empty());
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Walk<'q> {
    query: &'q GraphQuery,
    /// The ids of the names that it starts from. Several entities may have one of these names as an alias.
    seeds: Vec<EntityId>,
    state: State,
    /// The names whose aliases were requested.
    requested: BTreeSet<EntityId>,
    /// The names whose aliases are requested next.
    to_request: BTreeSet<EntityId>,
    aliases: BTreeSet<AliasRow>,
    /// The number of hops to each entity, under each of its names.
    distances: BTreeMap<EntityId, u32>,
    /// The number of hops of the current frontier.
    level: u32,
    /// The relations found, each with the level of the frontier that it starts from.
    edges: Vec<(EdgeRow, u32)>,
    mentions: Vec<MentionRow>,
}

/// A request for the rows that a walk needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The aliases of these names, and the names that have one of these as an alias; each row once.
    Aliases(BTreeSet<EntityId>),
    /// The relations with an end among these entities: those of the latest records, at most [`Walk::MAX_EDGES`]. The
    /// relations of one record are ordered by source, relation, target and times.
    Edges(BTreeSet<EntityId>),
    /// The mentions of each of these entities in the latest records, at most [`Walk::evidence`] for each, with the
    /// total number.
    Mentions(BTreeSet<EntityId>),
}

/// The next step of a walk. All requests for aliases come before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Find the entities with the names of the seeds.
    ResolveSeeds,
    /// Request the mentions of these entities.
    RequestSeedMentions,
    /// Drop the entities that no record mentions.
    SelectSeeds,
    /// Request the relations of the frontier.
    RequestEdges,
    /// Add the entities at the ends of these relations.
    AddReached,
    /// Request the mentions of the entities that were reached.
    RequestMentions,
    Done,
}

impl<'q> Walk<'q> {
    /// Maximum number of relations that one request returns.
    pub const MAX_EDGES: usize = 2000;
    /// Maximum number of names whose aliases are requested.
    const MAX_NAMES: usize = 8192;

    /// Creates a walk for a query that [is valid](GraphQuery::validate), through the graph of the tenant and user of
    /// `owner`. `most_mentioned` returns the entities that most records mention, among equal ones the lesser ids first.
    /// It is called only for a query with [`Seeds::MostMentioned`].
    pub fn new(owner: &Scope, query: &'q GraphQuery, most_mentioned: impl FnOnce() -> Vec<EntityId>) -> Self {
        let seeds = match &query.from {
            Seeds::Names(names) => names.iter().map(|name| EntityId::of(owner, name)).collect(),
            Seeds::Ids(ids) => ids.clone(),
            Seeds::MostMentioned => most_mentioned(),
        };
        let is_empty = seeds.is_empty() || query.entities == 0;
        Self {
            query,
            state: if is_empty { State::Done } else { State::ResolveSeeds },
            requested: BTreeSet::new(),
            to_request: seeds.iter().copied().collect(),
            seeds,
            aliases: BTreeSet::new(),
            distances: BTreeMap::new(),
            level: 0,
            edges: Vec::new(),
            mentions: Vec::new(),
        }
    }

    /// Returns the number of mentions requested for each entity.
    pub fn evidence(&self) -> usize {
        // At least one, which has the name and kind.
        self.query.evidence.clamp(1, GraphQuery::MAX_EVIDENCE)
    }

    /// Returns the next request, whose rows are provided by the method of the same name; `None` if the walk is done.
    #[allow(clippy::should_implement_trait, reason = "the rows provided between two calls decide the next request")]
    pub fn next(&mut self) -> Option<Ask> {
        loop {
            let remaining = Self::MAX_NAMES.saturating_sub(self.requested.len());
            let new: BTreeSet<EntityId> = std::mem::take(&mut self.to_request).into_iter().take(remaining).collect();
            if !new.is_empty() {
                self.requested.extend(&new);
                return Some(Ask::Aliases(new));
            }
            match self.state {
                State::ResolveSeeds => self.resolve_seeds(),
                State::RequestSeedMentions => {
                    self.state = State::SelectSeeds;
                    return Some(Ask::Mentions(self.distances.keys().copied().collect()));
                }
                State::SelectSeeds => self.select_seeds(),
                State::AddReached => self.add_reached(),
                State::RequestEdges if self.level == self.query.hops => self.state = State::RequestMentions,
                State::RequestEdges => {
                    let frontier = self.distances.iter().filter(|(_, at)| **at == self.level).map(|(id, _)| *id);
                    let frontier: BTreeSet<EntityId> = frontier.collect();
                    if frontier.is_empty() {
                        self.state = State::RequestMentions;
                        continue;
                    }
                    self.state = State::AddReached;
                    return Some(Ask::Edges(frontier));
                }
                State::RequestMentions => {
                    self.state = State::Done;
                    let reached = self.distances.iter().filter(|(_, at)| **at > 0).map(|(id, _)| *id);
                    let reached: BTreeSet<EntityId> = reached.collect();
                    if !reached.is_empty() {
                        return Some(Ask::Mentions(reached));
                    }
                }
                State::Done => return None,
            }
        }
    }

    /// Adds the aliases that were requested.
    pub fn aliases(&mut self, rows: impl IntoIterator<Item = AliasRow>) {
        for row in rows {
            self.to_request.extend([row.entity, row.alias].into_iter().filter(|id| !self.requested.contains(id)));
            self.aliases.insert(row);
        }
    }

    /// Adds the relations that were requested. Those that do not hold at the time of the query are dropped.
    pub fn edges(&mut self, rows: impl IntoIterator<Item = EdgeRow>) {
        let mut rows: Vec<EdgeRow> = rows.into_iter().collect();
        rows.sort_by(latest_first);
        rows.dedup();
        rows.truncate(Self::MAX_EDGES);
        for row in rows {
            let holds = |time| {
                row.valid_from.is_none_or(|from| from <= time) && row.valid_until.is_none_or(|until| time < until)
            };
            if self.query.at.is_none_or(holds) {
                self.to_request.extend([row.source, row.target].into_iter().filter(|id| !self.requested.contains(id)));
                self.edges.push((row, self.level));
            }
        }
    }

    /// Adds the mentions that were requested.
    pub fn mentions(&mut self, rows: impl IntoIterator<Item = MentionRow>) {
        self.mentions.extend(rows);
    }

    fn groups(&self) -> Groups<EntityId> {
        Groups::of(self.aliases.iter().map(|row| (row.entity, row.alias)))
    }

    /// Returns the requested names of each group, by its root.
    fn members(&self, groups: &Groups<EntityId>) -> BTreeMap<EntityId, Vec<EntityId>> {
        let mut members: BTreeMap<EntityId, Vec<EntityId>> = BTreeMap::new();
        for id in &self.requested {
            members.entry(groups.root(id)).or_default().push(*id);
        }
        members
    }

    /// Sets the distance of the seeds and of all names of their groups to 0.
    fn resolve_seeds(&mut self) {
        let groups = self.groups();
        let members = self.members(&groups);
        for seed in &self.seeds {
            // An ambiguous alias stands for each of its entities.
            for named in [seed].into_iter().chain(groups.claimants(seed)) {
                for id in members.get(&groups.root(named)).into_iter().flatten() {
                    self.distances.insert(*id, 0);
                }
            }
        }
        self.state = State::RequestSeedMentions;
    }

    /// Drops the seeds that no record mentions, and those with the fewest mentions if there are too many.
    fn select_seeds(&mut self) {
        let groups = self.groups();
        let mut totals: BTreeMap<EntityId, BTreeMap<EntityId, u64>> = BTreeMap::new();
        for row in &self.mentions {
            totals.entry(groups.root(&row.entity)).or_default().insert(row.entity, row.total);
        }
        let sums = totals.into_iter().map(|(root, names)| (std::cmp::Reverse(names.values().sum::<u64>()), root));
        let mut most_mentioned: Vec<_> = sums.collect();
        most_mentioned.sort();
        most_mentioned.truncate(self.query.entities);
        let kept: BTreeSet<EntityId> = most_mentioned.into_iter().map(|(_, root)| root).collect();
        self.distances.retain(|id, _| kept.contains(&groups.root(id)));
        self.state = State::RequestEdges;
    }

    /// Adds the ends of the relations of this level as the next level, up to the limit of the query. Entities that more
    /// records connect are added first.
    fn add_reached(&mut self) {
        let groups = self.groups();
        let members = self.members(&groups);
        let reached: BTreeSet<EntityId> = self.distances.keys().map(|id| groups.root(id)).collect();
        // The records that connect each new entity, and the latest of them.
        let mut connections: BTreeMap<EntityId, (BTreeSet<Cursor>, Option<Cursor>)> = BTreeMap::new();
        for (row, _) in self.edges.iter().filter(|(_, level)| *level == self.level) {
            for end in [row.source, row.target].map(|end| groups.root(&end)) {
                if !reached.contains(&end) {
                    let (records, latest) = connections.entry(end).or_default();
                    records.insert(row.record);
                    *latest = (*latest).max(Some(row.record));
                }
            }
        }
        let mut ranked: Vec<_> =
            connections.into_iter().map(|(root, (records, latest))| (records.len(), latest, root)).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
        ranked.truncate(self.query.entities.saturating_sub(reached.len()));
        self.level += 1;
        for (.., root) in ranked {
            for id in members.get(&root).into_iter().flatten() {
                self.distances.insert(*id, self.level);
            }
        }
        self.state = State::RequestEdges;
    }
}

/// The order of relations: those of the latest records first.
pub(crate) fn latest_first(a: &EdgeRow, b: &EdgeRow) -> std::cmp::Ordering {
    let key = |row: &EdgeRow| (row.source, row.relation.clone(), row.target, row.valid_from, row.valid_until);
    b.record.cmp(&a.record).then_with(|| key(a).cmp(&key(b)))
}
