//! The walk, which is the same for every store.

pub(crate) mod groups;
mod over;
mod result;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Cursor, Scope};

use crate::{
    entity::EntityId,
    query::{GraphQuery, Seeds},
    rows::{AliasRow, EdgeRow, MentionRow},
};
use groups::Groups;

/// A walk along what records say, step by step: it asks for rows, is given them, and asks on, until it is done.
///
/// It is independent of any database. The caller provides only rows of active records that the reader sees and that
/// match the filter of the query, so that every store gives the same results.
///
/// [`Walk::over`] does all that for a store that has the rows at hand:
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
    /// The names it starts from, each of which several entities may have.
    seeds: Vec<EntityId>,
    state: State,
    asked: BTreeSet<EntityId>,
    waiting: BTreeSet<EntityId>,
    aliases: BTreeSet<AliasRow>,
    /// The distance of each entity, under each of its names.
    distances: BTreeMap<EntityId, u32>,
    level: u32,
    edges: Vec<(EdgeRow, u32)>,
    mentions: Vec<MentionRow>,
}

/// The next input of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The other names that any of these has or is, each once.
    Aliases(BTreeSet<EntityId>),
    /// The relations that any of these is an end of: those that the latest records say, at most [`Walk::MAX_EDGES`]. Of
    /// one record they come in the order of source, relation, target and validity.
    Edges(BTreeSet<EntityId>),
    /// The mentions of each of these: by the latest records, as many as [`Walk::evidence`] says, with how many
    /// there are in all.
    Mentions(BTreeSet<EntityId>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Finding out what the seeds are called.
    Seeds,
    /// Before it is known which of them are there.
    Named,
    /// Leaving out those that are not.
    Counted,
    /// Finding out what those are called that the last step has reached.
    Reached,
    /// At a level, before its relations are known.
    Level,
    /// Before the mentions of all that were reached are known.
    End,
    Done,
}

impl<'q> Walk<'q> {
    /// Maximum number of relations that one step reads.
    pub const MAX_EDGES: usize = 2000;
    /// Maximum number of names that a walk merges.
    const MAX_NAMES: usize = 8192;

    /// A walk for a query that [is valid](GraphQuery::validate), over what belongs to the scope's tenant and user.
    /// `most_mentioned` gives the entities that most records mention, of equal ones the lesser ids, for a query that
    /// begins with those.
    pub fn new(owner: &Scope, query: &'q GraphQuery, most_mentioned: impl FnOnce() -> Vec<EntityId>) -> Self {
        let seeds = match &query.from {
            Seeds::Names(names) => names.iter().map(|name| EntityId::of(owner, name)).collect(),
            Seeds::Ids(ids) => ids.clone(),
            Seeds::MostMentioned => most_mentioned(),
        };
        let nothing = seeds.is_empty() || query.entities == 0;
        Self {
            query,
            state: if nothing { State::Done } else { State::Seeds },
            asked: BTreeSet::new(),
            waiting: seeds.iter().copied().collect(),
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
        // At least one, which says its name and kind.
        self.query.evidence.clamp(1, GraphQuery::MAX_EVIDENCE)
    }

    /// Returns the next input to provide, by the method of the same name; `None` if the walk is done.
    #[allow(clippy::should_implement_trait, reason = "what it is given between two steps decides the next")]
    pub fn next(&mut self) -> Option<Ask> {
        loop {
            let room = Self::MAX_NAMES.saturating_sub(self.asked.len());
            let new: BTreeSet<EntityId> = std::mem::take(&mut self.waiting).into_iter().take(room).collect();
            if !new.is_empty() {
                self.asked.extend(&new);
                return Some(Ask::Aliases(new));
            }
            match self.state {
                State::Seeds => self.begin(),
                State::Named => {
                    self.state = State::Counted;
                    return Some(Ask::Mentions(self.distances.keys().copied().collect()));
                }
                State::Counted => self.settle(),
                State::Reached => self.reach(),
                State::Level if self.level == self.query.hops => self.state = State::End,
                State::Level => {
                    let frontier = self.distances.iter().filter(|(_, at)| **at == self.level).map(|(id, _)| *id);
                    let frontier: BTreeSet<EntityId> = frontier.collect();
                    if frontier.is_empty() {
                        self.state = State::End;
                        continue;
                    }
                    self.state = State::Reached;
                    return Some(Ask::Edges(frontier));
                }
                State::End => {
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

    /// Takes the other names that it asked for.
    pub fn aliases(&mut self, rows: impl IntoIterator<Item = AliasRow>) {
        for row in rows {
            self.waiting.extend([row.entity, row.alias].into_iter().filter(|id| !self.asked.contains(id)));
            self.aliases.insert(row);
        }
    }

    /// Takes the relations that it asked for.
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
                self.waiting.extend([row.source, row.target].into_iter().filter(|id| !self.asked.contains(id)));
                self.edges.push((row, self.level));
            }
        }
    }

    /// Takes the mentions that it asked for.
    pub fn mentions(&mut self, rows: impl IntoIterator<Item = MentionRow>) {
        self.mentions.extend(rows);
    }

    fn groups(&self) -> Groups<EntityId> {
        Groups::of(self.aliases.iter().map(|row| (row.entity, row.alias)))
    }

    /// All names of one group that were asked for.
    fn members(&self, groups: &Groups<EntityId>) -> BTreeMap<EntityId, Vec<EntityId>> {
        let mut members: BTreeMap<EntityId, Vec<EntityId>> = BTreeMap::new();
        for id in &self.asked {
            members.entry(groups.root(id)).or_default().push(*id);
        }
        members
    }

    fn begin(&mut self) {
        let groups = self.groups();
        let members = self.members(&groups);
        for seed in &self.seeds {
            // A name that several are called by means each of them.
            for named in [seed].into_iter().chain(groups.claimants(seed)) {
                for id in members.get(&groups.root(named)).into_iter().flatten() {
                    self.distances.insert(*id, 0);
                }
            }
        }
        self.state = State::Named;
    }

    /// Leaves out the seeds that no record mentions; those that most do have the first places.
    fn settle(&mut self) {
        let groups = self.groups();
        let mut totals: BTreeMap<EntityId, BTreeMap<EntityId, u64>> = BTreeMap::new();
        for row in &self.mentions {
            totals.entry(groups.root(&row.entity)).or_default().insert(row.entity, row.total);
        }
        let sums = totals.into_iter().map(|(root, names)| (std::cmp::Reverse(names.values().sum::<u64>()), root));
        let mut best: Vec<_> = sums.collect();
        best.sort();
        best.truncate(self.query.entities);
        let kept: BTreeSet<EntityId> = best.into_iter().map(|(_, root)| root).collect();
        self.distances.retain(|id, _| kept.contains(&groups.root(id)));
        self.state = State::Level;
    }

    /// Brings in the ends of the relations of this level: those that the most records connect first.
    fn reach(&mut self) {
        let groups = self.groups();
        let members = self.members(&groups);
        let reached: BTreeSet<EntityId> = self.distances.keys().map(|id| groups.root(id)).collect();
        let mut new: BTreeMap<EntityId, (BTreeSet<Cursor>, Option<Cursor>)> = BTreeMap::new();
        for (row, _) in self.edges.iter().filter(|(_, level)| *level == self.level) {
            for end in [row.source, row.target].map(|end| groups.root(&end)) {
                if !reached.contains(&end) {
                    let (records, latest) = new.entry(end).or_default();
                    records.insert(row.record);
                    *latest = (*latest).max(Some(row.record));
                }
            }
        }
        let mut new: Vec<_> = new.into_iter().map(|(id, (records, latest))| (records.len(), latest, id)).collect();
        new.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
        new.truncate(self.query.entities.saturating_sub(reached.len()));
        self.level += 1;
        for (.., root) in new {
            for id in members.get(&root).into_iter().flatten() {
                self.distances.insert(*id, self.level);
            }
        }
        self.state = State::Level;
    }
}

/// The order in which relations are looked at where there are too many.
pub(crate) fn latest_first(a: &EdgeRow, b: &EdgeRow) -> std::cmp::Ordering {
    let rest = |row: &EdgeRow| (row.source, row.relation.clone(), row.target, row.valid_from, row.valid_until);
    b.record.cmp(&a.record).then_with(|| rest(a).cmp(&rest(b)))
}
