//! Decides what two stores become when they are merged. The result does not depend on which of them is the target,
//! except for what is written.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use memory_engine_core::{ContentHash, Job, RecordId, State, Timestamp, Tombstone};
use serde::Serialize;

use super::side::{Side, Version};

/// One of the two stores of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MergeSide {
    /// The store that is read.
    Source,
    /// The store that is written.
    Target,
}

/// The reason why one of two different versions of a record is kept. The first reason that applies decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MergeReason {
    /// The other version is retracted, and this store has undone that retraction.
    RetractionUndone,
    /// This version was retracted, and the other store has never had the retraction.
    Retracted,
    /// This version has the higher revision: it was written more often.
    HigherRevision,
    /// The revisions are equal, and the state of this version comes first: deleted, revoked, superseded, pending,
    /// active.
    State,
    /// Everything else is equal, and the hash of this version is greater.
    Hash,
}

/// The changes that make the target equal to the merge of both stores.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The tombstones that the target lacks.
    pub(super) tombstones: Vec<Tombstone>,
    /// Tombstones of ids that both stores have deleted, in their order, so that the contents of both are blocked.
    pub(super) further_blocks: Vec<Tombstone>,
    /// The records of the target that are deleted.
    pub(super) deleted: Vec<RecordId>,
    /// The records of the source that the target does not take, because they were forgotten or derived from forgotten
    /// or replaced ones.
    pub(super) forgotten: u64,
    /// The records that both stores have with different content, with the winner.
    pub(super) conflicts: Vec<(RecordId, MergeSide, MergeReason)>,
    /// The records that both stores have at different addresses. They cannot be merged.
    pub(super) misplaced: Vec<RecordId>,
    /// The records that both stores have with the same content, and the source with a higher revision.
    pub(super) outdated: Vec<RecordId>,
    /// The records that only the source has.
    pub(super) added: Vec<RecordId>,
    /// The records that both stores have with the same content.
    pub(super) unchanged: Vec<RecordId>,
    /// The records from which others have to be derived again, by job.
    pub(super) rederived: BTreeMap<Job, BTreeSet<RecordId>>,
}

impl Plan {
    pub(super) fn of(source: &Side, target: &Side, now: Timestamp) -> Self {
        let mut plan = Self::default();
        let mut dead = union(source, target);
        // What was changed or deleted in one store and not in the other: what the other one derived from it goes, too.
        let [mut of_source, mut of_target] = [lacking(source, target), lacking(target, source)];
        for (id, ours) in &source.records {
            let Some(theirs) = target.records.get(id).filter(|_| !dead.contains_key(id)) else { continue };
            if ours.scope != theirs.scope {
                plan.misplaced.push(*id);
            } else if ours.digest == theirs.digest {
                plan.unchanged.push(*id);
                if ours.revision > theirs.revision {
                    plan.outdated.push(*id);
                }
            } else {
                let (winner, reason) = decide(source, target, ours, theirs);
                plan.conflicts.push((*id, winner, reason));
                if ours.content_hash != theirs.content_hash {
                    let loser = if winner == MergeSide::Source { &mut of_target } else { &mut of_source };
                    loser.insert(*id);
                }
            }
        }
        let forgotten = forgotten_contents(source, target).into_iter().chain(forgotten_contents(target, source));
        for (id, version) in forgotten.collect::<Vec<_>>() {
            bury(&mut dead, id, version, now);
            of_source.insert(id);
            of_target.insert(id);
        }
        cascade([source, target], &mut dead, [of_source, of_target], now);

        let is_alive = |id: &RecordId| !dead.contains_key(id);
        plan.conflicts.retain(|(id, ..)| is_alive(id));
        for ids in [&mut plan.unchanged, &mut plan.outdated, &mut plan.misplaced] {
            ids.retain(is_alive);
        }
        let only_source = || source.records.keys().filter(|id| !target.records.contains_key(id));
        plan.forgotten = only_source().filter(|id| !is_alive(id)).count() as u64;
        plan.added = only_source().filter(|id| is_alive(id)).copied().collect();
        plan.deleted = target.records.keys().filter(|id| !is_alive(id)).copied().collect();
        plan.rederived = rederived([source, target], &dead);
        plan.further_blocks = further_blocks(source, target, &dead);
        plan.tombstones = dead.into_values().filter(|t| !target.tombstones.contains_key(&t.id)).collect();
        plan
    }
}

/// Returns the tombstones of both stores.
fn union(source: &Side, target: &Side) -> BTreeMap<RecordId, Tombstone> {
    let mut all = target.tombstones.clone();
    for tombstone in source.tombstones.values() {
        match all.get(&tombstone.id) {
            Some(stored) if strength(stored) >= strength(tombstone) => {}
            Some(_) | None => _ = all.insert(tombstone.id, tombstone.clone()),
        }
    }
    all
}

/// The order of tombstones with the same id: one of a record that was deleted itself blocks more than another one.
fn strength(tombstone: &Tombstone) -> (bool, ContentHash) {
    (!tombstone.withdrawn, tombstone.content_hash)
}

/// Returns the tombstones of the source that block more than those of the target with the same ids, each followed by
/// the one that stays. An id from which a record was derived after its deletion is left out: the import of its
/// tombstone would delete that record.
fn further_blocks(source: &Side, target: &Side, dead: &BTreeMap<RecordId, Tombstone>) -> Vec<Tombstone> {
    let has_derived: BTreeSet<RecordId> =
        target.records.values().flat_map(|version| version.derived_from.iter().copied()).collect();
    let pairs = source.tombstones.values().filter_map(|ours| Some((ours, target.tombstones.get(&ours.id)?)));
    let differing = pairs.filter(|(ours, theirs)| {
        strength(ours) != strength(theirs) && ours.scope == theirs.scope && !has_derived.contains(&ours.id)
    });
    differing.flat_map(|(ours, _)| [ours.clone()].into_iter().chain(dead.get(&ours.id).cloned())).collect()
}

/// Returns the ids with a tombstone in the other store only.
fn lacking(side: &Side, other: &Side) -> BTreeSet<RecordId> {
    other.tombstones.keys().filter(|id| !side.tombstones.contains_key(id)).copied().collect()
}

/// Returns the records that only `side` has, and whose content was forgotten in the other store.
fn forgotten_contents<'s>(side: &'s Side, other: &Side) -> Vec<(RecordId, &'s Version)> {
    // A content is blocked as withdrawn only if all of its tombstones are.
    let mut blocked: BTreeMap<ContentHash, bool> = BTreeMap::new();
    for tombstone in other.tombstones.values() {
        let withdrawn = blocked.entry(tombstone.content_hash).or_insert(true);
        *withdrawn &= tombstone.withdrawn;
    }
    let is_blocked = |version: &Version| {
        let withdrawn = blocked.get(&version.content_hash);
        withdrawn.is_some_and(|withdrawn| Tombstone::bars_content_for(version.trust, *withdrawn))
    };
    let only_here = side.records.iter().filter(|(id, _)| {
        !other.records.contains_key(id) && !other.tombstones.contains_key(id) && !side.tombstones.contains_key(id)
    });
    only_here.filter(|(_, version)| is_blocked(version)).map(|(id, version)| (*id, version)).collect()
}

fn bury(dead: &mut BTreeMap<RecordId, Tombstone>, id: RecordId, version: &Version, now: Timestamp) {
    let tombstone = Tombstone::new(id, version.scope.clone(), version.content_hash, now).with_withdrawn(true);
    dead.entry(id).or_insert(tombstone);
}

/// Adds tombstones for everything that is derived from `causes`, in the store of each set.
fn cascade(
    sides: [&Side; 2],
    dead: &mut BTreeMap<RecordId, Tombstone>,
    mut causes: [BTreeSet<RecordId>; 2],
    now: Timestamp,
) {
    let derived: [BTreeMap<RecordId, Vec<RecordId>>; 2] = sides.map(|side| {
        let mut derived: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
        for (id, version) in &side.records {
            version.derived_from.iter().for_each(|source| derived.entry(*source).or_default().push(*id));
        }
        derived
    });
    while causes.iter().any(|causes| !causes.is_empty()) {
        let mut new = BTreeSet::new();
        for ((side, derived), causes) in sides.iter().zip(&derived).zip(&mut causes) {
            for cause in std::mem::take(causes) {
                for id in derived.get(&cause).into_iter().flatten().filter(|id| **id != cause) {
                    if let Some(version) = side.records.get(id).filter(|_| !dead.contains_key(id)) {
                        bury(dead, *id, version, now);
                        new.insert(*id);
                    }
                }
            }
        }
        causes.iter_mut().for_each(|causes| causes.extend(&new));
    }
}

/// Returns the sources that remain of derived records that are deleted now.
fn rederived(sides: [&Side; 2], dead: &BTreeMap<RecordId, Tombstone>) -> BTreeMap<Job, BTreeSet<RecordId>> {
    let mut sources: BTreeMap<Job, BTreeSet<RecordId>> = BTreeMap::new();
    for (id, version) in sides.iter().flat_map(|side| &side.records) {
        let is_new = sides.iter().all(|side| !side.tombstones.contains_key(id));
        if let Some(job) = Job::making(&version.kind).filter(|_| is_new && dead.contains_key(id)) {
            let remaining = version.derived_from.iter().filter(|id| !dead.contains_key(id));
            sources.entry(job).or_default().extend(remaining);
        }
    }
    sources
}

/// Decides between two versions of a record. The decision is the same if source and target are exchanged.
fn decide(source: &Side, target: &Side, ours: &Version, theirs: &Version) -> (MergeSide, MergeReason) {
    let by = |ordering: Ordering, reason| match ordering {
        Ordering::Greater => Some((MergeSide::Source, reason)),
        Ordering::Less => Some((MergeSide::Target, reason)),
        Ordering::Equal => None,
    };
    let undone = |version: &Version| version.retraction.as_deref().is_some_and(|id| is_undone(source, target, id));
    let is_new = |version: &Version, side: &Side, other: &Side| {
        let retraction = version.retraction.as_deref();
        let entries = |id| side.retractions.get(id).map(Vec::as_slice);
        retraction.is_some_and(|id| entries(id).is_some_and(|entries| !other.has_seen(id, entries)))
    };
    by(undone(theirs).cmp(&undone(ours)), MergeReason::RetractionUndone)
        .or_else(|| by(is_new(ours, source, target).cmp(&is_new(theirs, target, source)), MergeReason::Retracted))
        .or_else(|| by(ours.revision.cmp(&theirs.revision), MergeReason::HigherRevision))
        .or_else(|| by(rank(ours.state).cmp(&rank(theirs.state)), MergeReason::State))
        .or_else(|| by(ours.digest.cmp(&theirs.digest), MergeReason::Hash))
        .unwrap_or((MergeSide::Target, MergeReason::Hash))
}

/// Returns true if one store has restored the records of a retraction that the other one still has.
fn is_undone(source: &Side, target: &Side, retraction: &str) -> bool {
    [(source, target), (target, source)].iter().any(|(side, other)| {
        let entries = side.retractions.get(retraction).into_iter().flatten();
        entries.into_iter().any(|entry| other.tombstones.contains_key(entry))
    })
}

fn rank(state: State) -> u8 {
    match state {
        State::Active => 0,
        State::Pending => 1,
        State::Superseded => 2,
        State::Revoked => 3,
        State::Deleted => 4,
    }
}
