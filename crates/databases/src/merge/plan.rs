//! The plan of a merge. The merged content does not depend on which of the stores is the target; only the writes do.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet},
};

use memory_engine_core::{ContentHash, Job, RecordId, State, Timestamp, Tombstone};
use serde::Serialize;

use super::snapshot::{StoreSnapshot, Version};

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
    /// The sources of cascade-deleted records, from which these are derived again, by job.
    pub(super) rederived: BTreeMap<Job, BTreeSet<RecordId>>,
}

impl Plan {
    pub(super) fn of(source: &StoreSnapshot, target: &StoreSnapshot, now: Timestamp) -> Self {
        let mut plan = Self::default();
        let mut tombstones = union(source, target);
        // Records that were changed or deleted in one store only: records that the other store derived from them are
        // deleted, too.
        let [mut source_causes, mut target_causes] =
            [missing_tombstones(source, target), missing_tombstones(target, source)];
        for (id, source_version) in &source.records {
            let Some(target_version) = target.records.get(id).filter(|_| !tombstones.contains_key(id)) else {
                continue;
            };
            if source_version.scope != target_version.scope {
                plan.misplaced.push(*id);
            } else if source_version.digest == target_version.digest {
                plan.unchanged.push(*id);
                if source_version.revision > target_version.revision {
                    plan.outdated.push(*id);
                }
            } else {
                let (winner, reason) = decide(source, target, source_version, target_version);
                plan.conflicts.push((*id, winner, reason));
                if source_version.content_hash != target_version.content_hash {
                    let loser = if winner == MergeSide::Source { &mut target_causes } else { &mut source_causes };
                    loser.insert(*id);
                }
            }
        }
        let forgotten = forgotten_contents(source, target).into_iter().chain(forgotten_contents(target, source));
        for (id, version) in forgotten.collect::<Vec<_>>() {
            add_tombstone(&mut tombstones, id, version, now);
            source_causes.insert(id);
            target_causes.insert(id);
        }
        cascade([source, target], &mut tombstones, [source_causes, target_causes], now);

        let is_alive = |id: &RecordId| !tombstones.contains_key(id);
        plan.conflicts.retain(|(id, ..)| is_alive(id));
        for ids in [&mut plan.unchanged, &mut plan.outdated, &mut plan.misplaced] {
            ids.retain(is_alive);
        }
        let only_source = || source.records.keys().filter(|id| !target.records.contains_key(id));
        plan.forgotten = only_source().filter(|id| !is_alive(id)).count() as u64;
        plan.added = only_source().filter(|id| is_alive(id)).copied().collect();
        plan.deleted = target.records.keys().filter(|id| !is_alive(id)).copied().collect();
        plan.rederived = rederived([source, target], &tombstones);
        plan.further_blocks = further_blocks(source, target, &tombstones);
        plan.tombstones = tombstones.into_values().filter(|t| !target.tombstones.contains_key(&t.id)).collect();
        plan
    }
}

/// Returns the tombstones of both stores.
fn union(source: &StoreSnapshot, target: &StoreSnapshot) -> BTreeMap<RecordId, Tombstone> {
    let mut all = target.tombstones.clone();
    for tombstone in source.tombstones.values() {
        match all.get(&tombstone.id) {
            Some(stored) if strength(stored) >= strength(tombstone) => {}
            Some(_) | None => _ = all.insert(tombstone.id, tombstone.clone()),
        }
    }
    all
}

/// The order of tombstones with the same id: one of a record that was deleted itself blocks more than another one. Of
/// two that block the same, the earlier one wins, so that both stores become equal.
fn strength(tombstone: &Tombstone) -> (bool, ContentHash, Reverse<Timestamp>) {
    (!tombstone.cascade_deleted, tombstone.content_hash, Reverse(tombstone.deleted_at))
}

/// Returns the tombstones of the source that block other contents than those of the target with the same ids, or are
/// earlier, each followed by the one that is stored in the end. An id from which a record was derived after its
/// deletion is left out: the import of its tombstone would delete that record.
fn further_blocks(
    source: &StoreSnapshot,
    target: &StoreSnapshot,
    tombstones: &BTreeMap<RecordId, Tombstone>,
) -> Vec<Tombstone> {
    let has_derived: BTreeSet<RecordId> =
        target.records.values().flat_map(|version| version.derived_from.iter().copied()).collect();
    let pairs =
        source.tombstones.values().filter_map(|of_source| Some((of_source, target.tombstones.get(&of_source.id)?)));
    let differing = pairs.filter(|(of_source, of_target)| {
        let blocks = |tombstone: &Tombstone| (tombstone.cascade_deleted, tombstone.content_hash);
        (blocks(of_source) != blocks(of_target) || of_source.deleted_at < of_target.deleted_at)
            && of_source.scope == of_target.scope
            && !has_derived.contains(&of_source.id)
    });
    differing
        .flat_map(|(of_source, _)| [of_source.clone()].into_iter().chain(tombstones.get(&of_source.id).cloned()))
        .collect()
}

/// Returns the ids with a tombstone in the other store only.
fn missing_tombstones(snapshot: &StoreSnapshot, other: &StoreSnapshot) -> BTreeSet<RecordId> {
    other.tombstones.keys().filter(|id| !snapshot.tombstones.contains_key(id)).copied().collect()
}

/// Returns the records that only `snapshot` has, and whose content was forgotten in the other store.
fn forgotten_contents<'s>(snapshot: &'s StoreSnapshot, other: &StoreSnapshot) -> Vec<(RecordId, &'s Version)> {
    // A content is blocked as cascade-deleted only if all of its tombstones are.
    let mut blocked: BTreeMap<ContentHash, bool> = BTreeMap::new();
    for tombstone in other.tombstones.values() {
        let cascade_deleted = blocked.entry(tombstone.content_hash).or_insert(true);
        *cascade_deleted &= tombstone.cascade_deleted;
    }
    let is_blocked = |version: &Version| {
        let cascade_deleted = blocked.get(&version.content_hash);
        cascade_deleted.is_some_and(|cascade_deleted| Tombstone::blocks_content_for(version.trust, *cascade_deleted))
    };
    let only_here = snapshot.records.iter().filter(|(id, _)| {
        !other.records.contains_key(id) && !other.tombstones.contains_key(id) && !snapshot.tombstones.contains_key(id)
    });
    only_here.filter(|(_, version)| is_blocked(version)).map(|(id, version)| (*id, version)).collect()
}

fn add_tombstone(tombstones: &mut BTreeMap<RecordId, Tombstone>, id: RecordId, version: &Version, now: Timestamp) {
    let tombstone = Tombstone::new(id, version.scope.clone(), version.content_hash, now).with_cascade_deleted(true);
    tombstones.entry(id).or_insert(tombstone);
}

/// Adds tombstones for everything that is derived from `causes`, in the store of each set.
fn cascade(
    snapshots: [&StoreSnapshot; 2],
    tombstones: &mut BTreeMap<RecordId, Tombstone>,
    mut causes: [BTreeSet<RecordId>; 2],
    now: Timestamp,
) {
    let derived: [BTreeMap<RecordId, Vec<RecordId>>; 2] = snapshots.map(|snapshot| {
        let mut derived: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
        for (id, version) in &snapshot.records {
            version.derived_from.iter().for_each(|source| derived.entry(*source).or_default().push(*id));
        }
        derived
    });
    while causes.iter().any(|causes| !causes.is_empty()) {
        let mut new = BTreeSet::new();
        for ((snapshot, derived), causes) in snapshots.iter().zip(&derived).zip(&mut causes) {
            for cause in std::mem::take(causes) {
                for id in derived.get(&cause).into_iter().flatten().filter(|id| **id != cause) {
                    if let Some(version) = snapshot.records.get(id).filter(|_| !tombstones.contains_key(id)) {
                        add_tombstone(tombstones, *id, version, now);
                        new.insert(*id);
                    }
                }
            }
        }
        causes.iter_mut().for_each(|causes| causes.extend(&new));
    }
}

/// Returns the sources that remain of derived records that are deleted now.
fn rederived(
    snapshots: [&StoreSnapshot; 2],
    tombstones: &BTreeMap<RecordId, Tombstone>,
) -> BTreeMap<Job, BTreeSet<RecordId>> {
    let mut sources: BTreeMap<Job, BTreeSet<RecordId>> = BTreeMap::new();
    for (id, version) in snapshots.iter().flat_map(|snapshot| &snapshot.records) {
        let is_new = snapshots.iter().all(|snapshot| !snapshot.tombstones.contains_key(id));
        if let Some(job) = Job::making(&version.kind).filter(|_| is_new && tombstones.contains_key(id)) {
            let remaining = version.derived_from.iter().filter(|id| !tombstones.contains_key(id));
            sources.entry(job).or_default().extend(remaining);
        }
    }
    sources
}

/// Decides between two versions of a record. The decision is the same if source and target are exchanged.
fn decide(
    source: &StoreSnapshot,
    target: &StoreSnapshot,
    source_version: &Version,
    target_version: &Version,
) -> (MergeSide, MergeReason) {
    let by = |ordering: Ordering, reason| match ordering {
        Ordering::Greater => Some((MergeSide::Source, reason)),
        Ordering::Less => Some((MergeSide::Target, reason)),
        Ordering::Equal => None,
    };
    let undone = |version: &Version| version.retraction.as_deref().is_some_and(|id| is_undone(source, target, id));
    let is_new = |version: &Version, snapshot: &StoreSnapshot, other: &StoreSnapshot| {
        let retraction = version.retraction.as_deref();
        let entries = |id| snapshot.retractions.get(id).map(Vec::as_slice);
        retraction.is_some_and(|id| entries(id).is_some_and(|entries| !other.has_seen(id, entries)))
    };
    let undone = undone(target_version).cmp(&undone(source_version));
    let retracted = is_new(source_version, source, target).cmp(&is_new(target_version, target, source));
    by(undone, MergeReason::RetractionUndone)
        .or_else(|| by(retracted, MergeReason::Retracted))
        .or_else(|| by(source_version.revision.cmp(&target_version.revision), MergeReason::HigherRevision))
        .or_else(|| by(rank(source_version.state).cmp(&rank(target_version.state)), MergeReason::State))
        .or_else(|| by(source_version.digest.cmp(&target_version.digest), MergeReason::Hash))
        .unwrap_or((MergeSide::Target, MergeReason::Hash))
}

/// Returns true if one store has restored the records of a retraction that the other one still has.
fn is_undone(source: &StoreSnapshot, target: &StoreSnapshot, retraction: &str) -> bool {
    [(source, target), (target, source)].iter().any(|(snapshot, other)| {
        let entries = snapshot.retractions.get(retraction).into_iter().flatten();
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
