//! Supersession: decides which facts hold, and which fact replaces which.
//!
//! The state of every fact is computed from all statements and their times, so that the order of arrival does not
//! matter.

use std::{collections::BTreeMap, fmt};

use memory_engine_core::{Kind, Record, RecordId, Scope, State, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    fact::{ExtractedFact, Polarity, fact_keys as keys, is_any_partner, is_of_kind, is_partner},
    text::has_han,
};

/// A change to a record of a fact. It contains the record before and after, so that it can be undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The kind of change.
    pub what: ChangeKind,
    /// The record before the change; `None` if it is new.
    pub before: Option<Record>,
    /// The record after the change; `None` if it is deleted.
    pub after: Option<Record>,
}

/// The kind of a [`Change`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The fact is new and holds.
    Add,
    /// The fact repeats another one and becomes further evidence for it.
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
    /// The person denied it, or said that it no longer holds.
    Retract {
        /// The fact with the denial.
        by: RecordId,
        /// The time until which it held.
        valid_until: Timestamp,
    },
    /// Only the list of facts that confirm it has changed.
    Confirm {
        /// The facts that confirm it.
        by: Vec<RecordId>,
    },
    /// It holds again: the fact that superseded it is gone, or is older.
    Reopen,
    /// A change was undone.
    Undo,
}

impl ChangeKind {
    /// Returns the name: `add`, `merge`, `supersede`, `retract`, `confirm`, `reopen` or `undo`.
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
    /// Returns the change that undoes this one.
    pub fn undo(&self) -> Self {
        Self { what: ChangeKind::Undo, before: self.after.clone(), after: self.before.clone() }
    }

    /// Returns the id of the changed record.
    pub fn id(&self) -> Option<RecordId> {
        self.after.as_ref().or(self.before.as_ref()).map(|record| record.id)
    }

    /// Applies the change to a list of records.
    pub fn apply(&self, records: &mut Vec<Record>) {
        let Some(id) = self.id() else { return };
        let index = records.iter().position(|record| record.id == id);
        match (index, &self.after) {
            (Some(index), Some(after)) => records[index] = after.clone(),
            (Some(index), None) => drop(records.remove(index)),
            (None, Some(after)) => records.push(after.clone()),
            (None, None) => {}
        }
    }
}

/// Returns the changes that `new` facts cause among the `existing` ones.
///
/// - A later fact supersedes an earlier one with the same subject and slot if the slot holds one value at a time. A
///   more exact value ("Shanghai Pudong" after "Shanghai") supersedes a less exact one, but not the other way round.
/// - In a slot with many values, a fact ends another one only if it denies the same value.
/// - A fact that repeats another one is merged into it. Both records stay, the later one as superseded, so that the
///   other one remains if either is retracted.
/// - A value with a stated end ("this week") does not supersede a value without one.
/// - A negative fact with the value [`ExtractedFact::ANY`] ends every value of its slot. An allergy ends so only if it
///   is the only one.
/// - "We broke up" ends the names of every partner, and "I can eat shrimp now" a dislike of shrimp.
/// - A fact that [corrects](ExtractedFact::corrects) another one supersedes it in any slot.
///
/// The result depends only on the facts, not on their order of arrival. A second call with the same facts changes
/// nothing. Facts are compared within one tenant, user, agent and branch, in any session. Records without a fact and
/// facts that were revoked or deleted are ignored and never restored. Without new facts, the call repairs the states
/// after some of the existing facts were deleted.
///
/// Every change can be undone.
pub fn reconcile(new: &[Record], existing: &[Record]) -> Vec<Change> {
    let mut known: BTreeMap<(PersonKey, RecordId), &Record> = BTreeMap::new();
    let mut added: BTreeMap<(PersonKey, RecordId), &Record> = BTreeMap::new();
    for record in existing.iter().filter(|record| record.kind == Kind::FACT) {
        known.insert((person_key(record), record.id), record);
    }
    for record in new.iter().filter(|record| record.kind == Kind::FACT) {
        let key = (person_key(record), record.id);
        if !known.contains_key(&key) {
            added.insert(key, record);
        }
    }
    let mut groups: BTreeMap<(PersonKey, String, String), Vec<FactState>> = BTreeMap::new();
    for record in known.values().chain(added.values()).filter(|record| has_computed_state(record)) {
        if let Some(fact) = ExtractedFact::from_record(record) {
            let state = FactState::new((*record).clone(), fact);
            let key = (person_key(record), state.fact.subject.clone(), comparable_slots(&state.fact.slot).to_owned());
            groups.entry(key).or_default().push(state);
        }
    }
    let mut changes = Vec::new();
    for ((person, _, _), mut group) in groups {
        compute_ends(&mut group);
        for state in group {
            let before = known.get(&(person.clone(), state.record.id)).copied();
            changes.extend(to_change(state, before));
        }
    }
    // New records come first, so that a superseding fact is stored before the superseded one changes.
    changes.sort_by_key(|change: &Change| (change.before.is_some(), change.after.as_ref().map(Record::position)));
    changes
}

/// Returns the name of the slots whose facts are compared with those of a slot.
fn comparable_slots(slot: &str) -> &str {
    match slot {
        "eat" | "like" => "eat",
        slot if kin_of(slot).is_some_and(is_partner) => "family.partner",
        slot => slot,
    }
}

/// Returns the relative of a slot such as `family.sister`.
fn kin_of(slot: &str) -> Option<&str> {
    slot.strip_prefix("family.")
}

/// The range within which facts are compared: tenant, user, agent, branch.
type PersonKey = [String; 4];

fn person_key(record: &Record) -> PersonKey {
    let scope: &Scope = &record.scope;
    let part = |name: Option<&str>| name.map(|name| format!("={name}")).unwrap_or_default();
    [scope.tenant().to_owned(), part(scope.user_name()), part(scope.agent()), part(scope.branch())]
}

/// Returns true for facts whose state is computed. Revoked and deleted ones keep their state.
fn has_computed_state(record: &Record) -> bool {
    matches!(record.state, State::Active | State::Superseded)
}

/// A fact with its record and its computed state.
struct FactState {
    record: Record,
    fact: ExtractedFact,
    /// The folded value, see [`ExtractedFact::value_key`].
    key: String,
    /// `None` while the fact holds.
    end: Option<FactEnd>,
    confirmed_by: Vec<RecordId>,
}

/// The reason why a fact does not hold, with the fact that caused it.
#[derive(Clone, Copy, PartialEq)]
enum FactEnd {
    Merged(RecordId),
    Superseded(RecordId, Timestamp),
    Retracted(RecordId, Timestamp),
}

impl FactState {
    fn new(record: Record, fact: ExtractedFact) -> Self {
        Self { key: fact.value_key(), record, fact, end: None, confirmed_by: Vec::new() }
    }

    /// The order in which facts were stated. A denial comes before a new value of the same time.
    fn order(&self) -> (Timestamp, i64, bool, RecordId) {
        (self.fact.begins(), self.fact.sequence.unwrap_or(0), self.fact.polarity == Polarity::Positive, self.record.id)
    }

    /// Returns true if the facts have the same slot, or if one of different slots can end the other.
    fn is_comparable_with(&self, older: &Self) -> bool {
        let is_food_again = self.fact.slot == "eat"
            && self.fact.polarity == Polarity::Positive
            && older.fact.slot == "like"
            && older.fact.polarity == Polarity::Negative;
        self.fact.slot == older.fact.slot || is_food_again || self.is_parting() || older.is_parting()
    }

    /// Returns true for the end of a relationship with an unnamed kind of partner.
    fn is_parting(&self) -> bool {
        self.key == ExtractedFact::ANY
            && self.fact.polarity == Polarity::Negative
            && kin_of(&self.fact.slot).is_some_and(is_any_partner)
    }

    /// Returns true if this negative fact ends the other, positive one.
    fn denies(&self, other: &Self) -> bool {
        self.key == ExtractedFact::ANY
            || self.key == other.key
            || (self.fact.is_single() && is_part_of(&self.key, &other.key))
            || is_kind_of(&other.key, &self.key)
    }
}

/// Slots in which a denial of every value ends nothing while several values hold, because it may mean one of them. An
/// allergy that ends by mistake is dangerous.
const AMBIGUOUS_DENIAL_SLOTS: [&str; 1] = ["allergy"];

/// Returns true if a fact denies every value of its slot, but may mean one of several that hold.
fn is_ambiguous_denial(denial: &FactState, earlier: &[FactState]) -> bool {
    let is_held = |state: &&FactState| state.end.is_none() && state.fact.polarity == Polarity::Positive;
    denial.key == ExtractedFact::ANY
        && AMBIGUOUS_DENIAL_SLOTS.contains(&denial.fact.slot.as_str())
        && earlier.iter().filter(is_held).count() > 1
}

/// Computes which facts of one subject and slot hold, from all statements in the order of their times.
fn compute_ends(group: &mut [FactState]) {
    group.sort_by_key(FactState::order);
    for n in 0..group.len() {
        let (earlier, rest) = group.split_at_mut(n);
        let Some(newest) = rest.first_mut() else { continue };
        if is_ambiguous_denial(newest, earlier) {
            continue;
        }
        let id = newest.record.id;
        let begins = newest.fact.begins();
        let is_bounded = newest.fact.valid_until.is_some();
        let is_single = newest.fact.is_single();
        let can_end = |older: &FactState| older.end.is_none() && !older.record.pinned;
        for older in earlier.iter_mut().filter(|older| can_end(older) && newest.is_comparable_with(older)) {
            if newest.fact.corrects == Some(older.record.id) {
                older.end = Some(FactEnd::Superseded(id, begins));
                continue;
            }
            let same_polarity = older.fact.polarity == newest.fact.polarity;
            let same_boundedness = older.fact.valid_until.is_some() == is_bounded;
            let repeats = older.key == newest.key
                || (is_single && newest.fact.polarity == Polarity::Positive && is_part_of(&newest.key, &older.key));
            if same_polarity {
                if repeats && same_boundedness && is_valid_at(older, begins) {
                    newest.end = Some(FactEnd::Merged(older.record.id));
                    older.confirmed_by.push(id);
                    break;
                }
                if is_single && newest.fact.polarity == Polarity::Positive && same_boundedness {
                    older.end = Some(FactEnd::Superseded(id, begins));
                }
            } else if newest.fact.polarity == Polarity::Negative && newest.denies(older) {
                older.end = Some(FactEnd::Retracted(id, begins));
            } else if newest.fact.polarity == Polarity::Positive
                && (older.key == ExtractedFact::ANY || older.key == newest.key || is_eating(&older.key, &newest.key))
            {
                older.end = Some(FactEnd::Superseded(id, begins));
            }
        }
    }
}

/// Returns true if a folded value is eating the food: "eating shrimp", "吃虾".
fn is_eating(value: &str, food: &str) -> bool {
    value.strip_prefix("eating ").or_else(|| value.strip_prefix('吃')) == Some(food)
}

/// Returns true if the stated end of a fact is after `moment`, or if it has none.
fn is_valid_at(state: &FactState, moment: Timestamp) -> bool {
    state.fact.valid_until.is_none_or(|until| until > moment)
}

/// Returns true if one folded value is part of another: some of its words, or its Chinese beginning or end.
fn is_part_of(part: &str, whole: &str) -> bool {
    let padded = |text: &str| format!(" {text} ");
    let is_chinese = part.chars().next().is_some_and(memory_engine_core::text::is_han) && part.chars().count() > 1;
    padded(whole).contains(&padded(part)) || (is_chinese && (whole.starts_with(part) || whole.ends_with(part)))
}

/// Returns true if one folded value names a kind of the other: "iced coffee" is a kind of "coffee", and "一辆大众" one of
/// "车".
fn is_kind_of(value: &str, kind: &str) -> bool {
    let ends_with_kind = value.strip_suffix(kind).is_some_and(|rest| rest.ends_with(' ') || has_han(kind));
    (ends_with_kind && kind.chars().count() > 1) || is_of_kind(value, kind)
}

/// Returns the change that gives a record its computed state, or `None` if it has that state.
fn to_change(state: FactState, before: Option<&Record>) -> Option<Change> {
    let FactState { mut record, fact, end, confirmed_by, .. } = state;
    for key in [keys::MERGED_INTO, keys::SUPERSEDED_BY, keys::CONFIRMED_BY] {
        record.metadata.remove(key);
    }
    record.valid_until = fact.valid_until;
    record.state = State::Active;
    let cause = match end {
        Some(FactEnd::Merged(into)) => Some((keys::MERGED_INTO, into)),
        Some(FactEnd::Superseded(by, _) | FactEnd::Retracted(by, _)) => Some((keys::SUPERSEDED_BY, by)),
        None => None,
    };
    if let Some((key, id)) = cause {
        record.metadata.insert(key.to_owned(), json!(id));
    }
    if !confirmed_by.is_empty() {
        record.metadata.insert(keys::CONFIRMED_BY.to_owned(), json!(confirmed_by));
    }
    if end.is_some() {
        record.state = State::Superseded;
    }
    if let Some(FactEnd::Superseded(_, at) | FactEnd::Retracted(_, at)) = end {
        let until = record.valid_until.map_or(at, |stated| stated.min(at));
        record.valid_until = Some(record.valid_from.map_or(until, |from| from.max(until)));
    }
    if before.is_some_and(|before| before.same_content(&record)) {
        return None;
    }
    let what = match (end, before) {
        (Some(FactEnd::Merged(into)), _) => ChangeKind::Merge { into },
        (Some(FactEnd::Superseded(by, _)), _) => {
            ChangeKind::Supersede { by, valid_until: record.valid_until.unwrap_or_default() }
        }
        (Some(FactEnd::Retracted(by, _)), _) => {
            ChangeKind::Retract { by, valid_until: record.valid_until.unwrap_or_default() }
        }
        (None, None) => ChangeKind::Add,
        (None, Some(before)) if before.state == State::Active => ChangeKind::Confirm { by: confirmed_by },
        (None, Some(_)) => ChangeKind::Reopen,
    };
    Some(Change { what, before: before.cloned(), after: Some(record) })
}
