//! Supersession: decides which fact replaces which.

use std::{collections::BTreeMap, fmt};

use memory_engine_core::{Kind, Record, RecordId, Scope, State, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fact::{ExtractedFact, Polarity, fact_keys as keys};

/// A change to the records of facts, with both sides, so that it can be taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The action.
    pub what: ChangeKind,
    /// The record as it was; nothing when it is new.
    pub before: Option<Record>,
    /// The new record; `None` if it is deleted.
    pub after: Option<Record>,
}

/// The action of a change on a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The fact is new, and holds.
    Add,
    /// The fact repeats another one, and becomes further evidence for it.
    Merge {
        /// The other fact.
        into: RecordId,
    },
    /// A newer fact supersedes it. A fact that arrives late may be new and superseded at once.
    Supersede {
        /// The newer fact.
        by: RecordId,
        /// The time until which it held.
        valid_until: Timestamp,
    },
    /// The person said that it is not so, or no longer.
    Retract {
        /// The fact that says so.
        by: RecordId,
        /// The time until which it held.
        valid_until: Timestamp,
    },
    /// Only the list of facts that confirm it changes.
    Confirm {
        /// The facts that say the same.
        by: Vec<RecordId>,
    },
    /// It holds again: the fact that superseded it is gone, or is older.
    Reopen,
    /// A change was taken back.
    Undo,
}

impl ChangeKind {
    /// The name: `add`, `merge`, `supersede`, `retract`, `confirm`, `reopen` or `undo`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Merge { .. } => "merge",
            Self::Supersede { .. } => "supersede",
            Self::Retract { .. } => "retract",
            Self::Confirm { .. } => "confirm",
            Self::Reopen => "reopen",
            Self::Undo => "undo",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Change {
    /// The change that takes this one back.
    pub fn undo(&self) -> Self {
        Self { what: ChangeKind::Undo, before: self.after.clone(), after: self.before.clone() }
    }

    /// The record that it is about.
    pub fn id(&self) -> Option<RecordId> {
        self.after.as_ref().or(self.before.as_ref()).map(|record| record.id)
    }

    /// Carries it out on a list of records, as a store would.
    pub fn apply(&self, records: &mut Vec<Record>) {
        let Some(id) = self.id() else { return };
        let place = records.iter().position(|record| record.id == id);
        match (place, &self.after) {
            (Some(place), Some(after)) => records[place] = after.clone(),
            (Some(place), None) => drop(records.remove(place)),
            (None, Some(after)) => records.push(after.clone()),
            (None, None) => {}
        }
    }
}

/// Returns the changes that `new` facts cause among the `existing` ones.
///
/// A fact takes the place of another only when both are about the same subject and the same slot, that slot holds one
/// value at a time, and it was said later. In a slot of many values it ends one only by saying that this very value is
/// not so. What says the same is merged: both records stay, the later one as superseded, so that taking back either
/// leaves the other. A value with a stated end ("this week") stands beside one without, and takes no place. A negative
/// fact with the value [`ExtractedFact::ANY`] ends every value of its slot. A fact that
/// [corrects](ExtractedFact::corrects) another one takes its place in any slot. What is more exact ("Shanghai Pudong"
/// after "Shanghai") takes the place of what is less so.
///
/// The result depends only on the facts, not on the order in which they arrive, and a second call with the same facts
/// changes nothing: the state of every fact is computed from all statements and their times. Facts are compared
/// within one tenant, user, agent and branch, in any session. Records without a fact, and facts that were revoked or
/// deleted, are ignored and never restored. Without new facts, it repairs the states after a deletion among the
/// existing ones.
///
/// Nothing is overwritten: every change can be undone.
pub fn reconcile(new: &[Record], existing: &[Record]) -> Vec<Change> {
    let mut known: BTreeMap<(Address, RecordId), &Record> = BTreeMap::new();
    let mut fresh: BTreeMap<(Address, RecordId), &Record> = BTreeMap::new();
    for record in existing.iter().filter(|record| record.kind == Kind::FACT) {
        known.insert((address(record), record.id), record);
    }
    for record in new.iter().filter(|record| record.kind == Kind::FACT) {
        let key = (address(record), record.id);
        if !known.contains_key(&key) {
            fresh.insert(key, record);
        }
    }
    let mut groups: BTreeMap<(Address, String, String), Vec<Observed>> = BTreeMap::new();
    for record in known.values().chain(fresh.values()).filter(|record| takes_part(record)) {
        if let Some(fact) = ExtractedFact::from_record(record) {
            let observed = Observed::new((*record).clone(), fact);
            let key = (address(record), observed.fact.subject.clone(), observed.fact.slot.clone());
            groups.entry(key).or_default().push(observed);
        }
    }
    let mut changes = Vec::new();
    for ((address, _, _), mut group) in groups {
        settle(&mut group);
        for observed in group {
            let before = known.get(&(address.clone(), observed.record.id)).copied();
            changes.extend(change(observed, before));
        }
    }
    // What takes a place is there before what gives it up.
    changes.sort_by_key(|change: &Change| (change.before.is_some(), change.after.as_ref().map(Record::position)));
    changes
}

/// The range within which facts are compared: tenant, user, agent, branch.
type Address = [String; 4];

fn address(record: &Record) -> Address {
    let scope: &Scope = &record.scope;
    let part = |name: Option<&str>| name.map(|name| format!("={name}")).unwrap_or_default();
    [scope.tenant().to_owned(), part(scope.user_name()), part(scope.agent()), part(scope.branch())]
}

fn takes_part(record: &Record) -> bool {
    matches!(record.state, State::Active | State::Superseded)
}

/// A fact with its record, and how it comes to stand.
struct Observed {
    record: Record,
    fact: ExtractedFact,
    key: String,
    end: Option<End>,
    confirmed: Vec<RecordId>,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Merged(RecordId),
    Superseded(RecordId, Timestamp),
    Retracted(RecordId, Timestamp),
}

impl Observed {
    fn new(record: Record, fact: ExtractedFact) -> Self {
        Self { key: fact.value_key(), record, fact, end: None, confirmed: Vec::new() }
    }

    /// The order in which things were said; a denial comes before what is said instead of what it denies.
    fn order(&self) -> (Timestamp, i64, bool, RecordId) {
        (self.fact.begins(), self.fact.sequence.unwrap_or(0), self.fact.polarity == Polarity::Positive, self.record.id)
    }

    fn denies(&self, other: &Self) -> bool {
        self.key == ExtractedFact::ANY
            || self.key == other.key
            || (self.fact.is_single() && within(&self.key, &other.key))
    }
}

/// Works out, from what was said and when, which facts of one subject and slot hold.
fn settle(group: &mut [Observed]) {
    group.sort_by_key(Observed::order);
    for n in 0..group.len() {
        let (past, rest) = group.split_at_mut(n);
        let Some(newest) = rest.first_mut() else { continue };
        let (id, from) = (newest.record.id, newest.fact.begins());
        let (bounded, single) = (newest.fact.valid_until.is_some(), newest.fact.is_single());
        for older in past.iter_mut().filter(|older| older.end.is_none()) {
            if newest.fact.corrects == Some(older.record.id) {
                older.end = Some(End::Superseded(id, from));
                continue;
            }
            let same_side = older.fact.polarity == newest.fact.polarity;
            let both_bounded = older.fact.valid_until.is_some() == bounded;
            let same = older.key == newest.key
                || (single && newest.fact.polarity == Polarity::Positive && within(&newest.key, &older.key));
            if same_side {
                if same && both_bounded && lasts(older, from) {
                    newest.end = Some(End::Merged(older.record.id));
                    older.confirmed.push(id);
                    break;
                }
                if single && newest.fact.polarity == Polarity::Positive && both_bounded {
                    older.end = Some(End::Superseded(id, from));
                }
            } else if newest.fact.polarity == Polarity::Negative && newest.denies(older) {
                older.end = Some(End::Retracted(id, from));
            } else if newest.fact.polarity == Polarity::Positive
                && (older.key == ExtractedFact::ANY || older.key == newest.key)
            {
                older.end = Some(End::Superseded(id, from));
            }
        }
    }
}

/// Returns true if a fact is still valid at a moment, by its own text.
fn lasts(older: &Observed, moment: Timestamp) -> bool {
    older.fact.valid_until.is_none_or(|until| until > moment)
}

/// Returns true if one folded value is a part of another: whole words of it, or its Chinese beginning or end.
fn within(part: &str, whole: &str) -> bool {
    let words = |text: &str| format!(" {text} ");
    let han = part.chars().next().is_some_and(memory_engine_core::text::is_han) && part.chars().count() > 1;
    words(whole).contains(&words(part)) || (han && (whole.starts_with(part) || whole.ends_with(part)))
}

/// The change that brings a record to where it should stand; nothing when it stands there.
fn change(observed: Observed, before: Option<&Record>) -> Option<Change> {
    let Observed { mut record, fact, end, confirmed, .. } = observed;
    for key in [keys::MERGED_INTO, keys::SUPERSEDED_BY, keys::CONFIRMED_BY] {
        record.metadata.remove(key);
    }
    record.valid_until = fact.valid_until;
    record.state = State::Active;
    let mut note = |key: &str, value: Value| record.metadata.insert(key.to_owned(), value);
    match end {
        Some(End::Merged(into)) => drop(note(keys::MERGED_INTO, json!(into))),
        Some(End::Superseded(by, _) | End::Retracted(by, _)) => drop(note(keys::SUPERSEDED_BY, json!(by))),
        None => {}
    }
    if !confirmed.is_empty() {
        note(keys::CONFIRMED_BY, json!(confirmed));
    }
    if end.is_some() {
        record.state = State::Superseded;
    }
    if let Some(End::Superseded(_, at) | End::Retracted(_, at)) = end {
        let until = record.valid_until.map_or(at, |stated| stated.min(at));
        record.valid_until = Some(record.valid_from.map_or(until, |from| from.max(until)));
    }
    if before.is_some_and(|before| before.same_content(&record)) {
        return None;
    }
    let what = match (end, before) {
        (Some(End::Merged(into)), _) => ChangeKind::Merge { into },
        (Some(End::Superseded(by, _)), _) => {
            ChangeKind::Supersede { by, valid_until: record.valid_until.unwrap_or_default() }
        }
        (Some(End::Retracted(by, _)), _) => {
            ChangeKind::Retract { by, valid_until: record.valid_until.unwrap_or_default() }
        }
        (None, None) => ChangeKind::Add,
        (None, Some(before)) if before.state == State::Active => ChangeKind::Confirm { by: confirmed },
        (None, Some(_)) => ChangeKind::Reopen,
    };
    Some(Change { what, before: before.cloned(), after: Some(record) })
}
