//! Supersession: decides which facts hold, and which fact replaces which.
//!
//! The state of every fact is computed from all statements and their times, so that the order of arrival does not
//! matter. The exception is an end ("I quit judo"): it is stored only if it names an earlier fact that is there.

mod change;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Kind, Record, RecordId, Scope, State, Timestamp, fact_keys as keys, history::FormerState, text::normalize,
};
use serde_json::json;

pub use self::change::{Change, ChangeKind};

use crate::{
    fact::{
        ExtractedFact, Polarity, canonical_name, ends_slot, is_any_partner, is_of_kind, is_partner, names_slot,
        wish_topic,
    },
    text::has_han,
};

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
/// - A wish ends an earlier one about the same: "answer in French" after "always answer in English". The end of a wish
///   is an act, which does not hold itself.
/// - "Forget what I said about walnuts" ends the facts whose value, slot or relative it names, in any slot. "I'm off
///   keto" ends the positive facts whose value it names, in the slots of its kind of end. Such an end is left out if no
///   fact is about it.
/// - A fact that [corrects](ExtractedFact::corrects) another one supersedes it in any slot.
///
/// The result depends only on the facts, not on their order of arrival, but for the exception at the head of the
/// module. A second call with the same facts changes nothing. Facts are compared within one tenant, user, agent and
/// branch, in any session. Records without a fact and deleted facts are ignored. A fact that held and was revoked stays
/// revoked, and those that it ended or that repeat it do not hold again: only a later statement changes that. A caller
/// leaves out the facts that were revoked because their evidence was. Without new facts, the call repairs the states
/// after some of the existing facts were deleted.
///
/// Every change can be undone.
pub fn reconcile(new: &[Record], existing: &[Record]) -> Vec<Change> {
    let known = facts_by_id(existing);
    let mut all = facts_by_id(new);
    all.extend(known.clone());
    let mut groups: BTreeMap<(PersonKey, String, String), Vec<FactState>> = BTreeMap::new();
    for record in all.into_values().filter(|record| has_computed_state(record)) {
        if let Some(fact) = ExtractedFact::from_record(record) {
            let state = FactState::new((*record).clone(), fact);
            let key = (person_key(record), state.fact.subject.clone(), comparable_slots(&state.fact.slot).to_owned());
            groups.entry(key).or_default().push(state);
        }
    }
    let endings: Vec<FactState> = groups.values().flatten().filter(|s| s.is_ending()).cloned().collect();
    let mut changes = Vec::new();
    let mut effective = BTreeSet::new();
    for ((person, subject, _), mut group) in groups {
        let has_endings = group.iter().any(FactState::is_ending);
        if !has_endings {
            let is_of_owner = |ending: &&FactState| {
                let names_owner = subject.split('.').next() == ending.fact.subject.split('.').next();
                let is_of_subject = ending.fact.subject == subject || (ending.is_withdrawal() && names_owner);
                person_key(&ending.record) == person && is_of_subject
            };
            group.extend(endings.iter().filter(is_of_owner).cloned());
        }
        compute_ends(&mut group);
        effective.extend(group.iter().filter_map(|state| state.end.map(FactEnd::cause)));
        group.retain(|state| has_endings || !state.is_ending());
        for state in group.into_iter().filter(|state| state.retired_at.is_none()) {
            let before = known.get(&(person.clone(), state.record.id)).copied();
            changes.extend(to_change(state, before));
        }
    }
    changes.retain(|change: &Change| !is_idle_end(change, &effective));
    // New records come first, so that a superseding fact is stored before the superseded one changes.
    changes.sort_by_key(|change: &Change| (change.before.is_some(), change.after.as_ref().map(Record::position)));
    changes
}

/// Returns the facts among the records by their range and id.
fn facts_by_id(records: &[Record]) -> BTreeMap<(PersonKey, RecordId), &Record> {
    let facts = records.iter().filter(|record| record.kind == Kind::FACT);
    facts.map(|record| ((person_key(record), record.id), record)).collect()
}

/// Returns the name of the slots whose facts are compared with those of a slot.
fn comparable_slots(slot: &str) -> &str {
    match slot {
        "eat" | "like" => "eat",
        slot if kin_of(slot).is_some_and(is_partner) => "family.partner",
        slot if slot.starts_with("plan.") => "plan",
        slot => slot,
    }
}

/// Returns the relative of a slot such as `family.sister`.
pub(crate) fn kin_of(slot: &str) -> Option<&str> {
    slot.strip_prefix("family.")
}

/// The range within which facts are compared: tenant, user, agent, branch.
type PersonKey = [String; 4];

fn person_key(record: &Record) -> PersonKey {
    let scope: &Scope = &record.scope;
    let part = |name: Option<&str>| name.map(|name| format!("={name}")).unwrap_or_default();
    [scope.tenant().to_owned(), part(scope.user_name()), part(scope.agent()), part(scope.branch())]
}

/// Returns true for facts that are compared. Retired ones keep their state, but still end older facts.
fn has_computed_state(record: &Record) -> bool {
    matches!(record.state, State::Active | State::Superseded) || retired_at(record).is_some()
}

/// Returns the time at which a fact that held was revoked.
fn retired_at(record: &Record) -> Option<Timestamp> {
    let former = FormerState::all_of(record).pop().filter(|_| record.state == State::Revoked)?;
    matches!(former.state, State::Active | State::Superseded).then_some(former.until)
}

/// A fact with its record and its computed state.
#[derive(Clone)]
struct FactState {
    record: Record,
    fact: ExtractedFact,
    /// The folded value, see [`ExtractedFact::value_key`].
    key: String,
    /// `None` while the fact holds.
    end: Option<FactEnd>,
    confirmed_by: Vec<RecordId>,
    /// The time at which the fact was revoked. `None` if it was not.
    retired_at: Option<Timestamp>,
}

/// The reason why a fact does not hold, with the fact that caused it.
#[derive(Clone, Copy, PartialEq)]
enum FactEnd {
    Merged(RecordId),
    Superseded(RecordId, Timestamp),
    Retracted(RecordId, Timestamp),
}

impl FactEnd {
    /// Returns the fact that caused it.
    fn cause(self) -> RecordId {
        match self {
            Self::Merged(cause) | Self::Superseded(cause, _) | Self::Retracted(cause, _) => cause,
        }
    }
}

impl FactState {
    fn new(record: Record, fact: ExtractedFact) -> Self {
        let retired_at = retired_at(&record);
        Self { key: fact.value_key(), record, fact, end: None, confirmed_by: Vec::new(), retired_at }
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
        if older.is_ending() || self.is_ending() {
            return !older.is_ending() && if self.is_withdrawal() { self.withdraws(older) } else { self.stops(older) };
        }
        self.fact.slot == older.fact.slot
            || is_food_again
            || self.is_parting()
            || older.is_parting()
            || self.calls_off(older)
    }

    /// Returns true if this ends every plan with a name that is part of that of the other one: "the trip is off" ends a
    /// trip to Oslo.
    fn calls_off(&self, older: &Self) -> bool {
        let names = self.fact.slot.strip_prefix("plan.").zip(older.fact.slot.strip_prefix("plan."));
        self.key == ExtractedFact::ANY && names.is_some_and(|(event, older)| is_part_of(event, older))
    }

    /// Returns true if the fact takes back what was said about its value, in any slot.
    fn is_withdrawal(&self) -> bool {
        self.fact.slot == ExtractedFact::WITHDRAWN
    }

    /// Returns true for a fact that ends others of any slot by the name of their value.
    fn is_ending(&self) -> bool {
        self.is_withdrawal() || self.fact.is_end()
    }

    /// Returns true if what is over is the value of a positive fact, or the name of a plan.
    fn stops(&self, other: &Self) -> bool {
        let plan = other.fact.slot.strip_prefix("plan.").map(normalize);
        let value = plan.as_ref().unwrap_or(&other.key);
        let is_named = is_part_of(&self.key, value) || is_kind_of(value, &self.key) || has_han_part(value, &self.key);
        other.fact.polarity == Polarity::Positive && is_named && ends_slot(&self.fact.slot, &self.key, &other.fact.slot)
    }

    /// Returns true for a lasting request to the assistant.
    fn is_wish(&self) -> bool {
        self.fact.slot == ExtractedFact::WISH
    }

    /// Returns true for a fact that is kept with those that it ended, but does not hold: a withdrawal or another end.
    fn is_act(&self) -> bool {
        self.is_ending() || (self.is_wish() && self.fact.polarity == Polarity::Negative)
    }

    /// Returns true if both are wishes of the same topic, such as the language of answers.
    fn shares_topic(&self, other: &Self) -> bool {
        let topic = wish_topic(&self.fact.value).filter(|_| self.is_wish() && other.is_wish());
        topic.is_some() && topic == wish_topic(&other.fact.value)
    }

    /// Returns true if the folded value of the other fact, in the words of the person, contains this topic.
    fn names_words_of(&self, other: &Self) -> bool {
        let has_own_words = [ExtractedFact::WISH, ExtractedFact::REMEMBERED].contains(&other.fact.slot.as_str());
        has_own_words && (is_part_of(&self.key, &other.key) || (has_han(&other.key) && other.key.contains(&self.key)))
    }

    /// Returns true if the subject of this withdrawal is the value, the slot or the relative of another fact.
    fn withdraws(&self, other: &Self) -> bool {
        let topic = self.key.as_str();
        let relative = other.fact.subject.split_once('.').map(|(_, relative)| relative).or(kin_of(&other.fact.slot));
        is_part_of(topic, &other.key)
            || is_part_of(&other.key, topic)
            || self.names_words_of(other)
            || names_slot(topic, &other.fact.slot)
            || relative == Some(canonical_name(topic))
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
            || self.is_ending()
            || self.key == other.key
            || (self.fact.is_single() && is_part_of(&self.key, &other.key))
            || (self.is_wish() && (self.shares_topic(other) || self.names_words_of(other)))
            || is_kind_of(&other.key, &self.key)
    }
}

/// The slot in which a denial of every value ends nothing while several values hold, because it may mean one of them.
/// An allergy that ends by mistake is dangerous.
const AMBIGUOUS_DENIAL_SLOT: &str = "allergy";

/// Returns true if a fact denies every value of a slot, but may mean one of several that hold.
fn is_ambiguous_denial(denial: &FactState, earlier: &[FactState]) -> bool {
    let names_all =
        denial.key == ExtractedFact::ANY || (denial.is_withdrawal() && names_slot(&denial.key, AMBIGUOUS_DENIAL_SLOT));
    let is_held = |state: &&FactState| {
        state.end.is_none() && state.fact.polarity == Polarity::Positive && state.fact.slot == AMBIGUOUS_DENIAL_SLOT
    };
    names_all && earlier.iter().filter(is_held).count() > 1
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
                let is_retired = older.retired_at.is_some_and(|retired_at| retired_at < begins);
                if repeats && same_boundedness && is_valid_at(older, begins) && !is_retired {
                    newest.end = Some(FactEnd::Merged(older.record.id));
                    older.confirmed_by.push(id);
                    break;
                }
                let replaces = is_single || newest.shares_topic(older);
                if replaces && newest.fact.polarity == Polarity::Positive && same_boundedness {
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

/// Returns true if a Chinese value contains some characters, or begins or ends with one.
fn has_han_part(value: &str, part: &str) -> bool {
    let is_end = value.starts_with(part) || value.ends_with(part);
    has_han(value) && if part.chars().count() > 1 { value.contains(part) } else { is_end }
}

/// Returns true if one folded value names a kind of the other: "iced coffee" is a kind of "coffee", and "一辆大众" one of
/// "车".
fn is_kind_of(value: &str, kind: &str) -> bool {
    let ends_with_kind = value.strip_suffix(kind).is_some_and(|rest| rest.ends_with(' ') || has_han(kind));
    (ends_with_kind && kind.chars().count() > 1) || is_of_kind(value, kind)
}

/// Returns true if a change adds the end of something that no fact is about: "I finished my coffee".
fn is_idle_end(change: &Change, effective: &BTreeSet<RecordId>) -> bool {
    let added = change.after.as_ref().filter(|_| change.before.is_none());
    let ended = added.filter(|record| ExtractedFact::from_record(record).is_some_and(|fact| fact.is_end()));
    ended.is_some_and(|record| !effective.contains(&record.id))
}

/// Returns the change that gives a record its computed state, or `None` if it has that state.
fn to_change(state: FactState, before: Option<&Record>) -> Option<Change> {
    let is_act = state.is_act();
    let FactState { mut record, fact, end, confirmed_by, .. } = state;
    for key in [keys::MERGED_INTO, keys::SUPERSEDED_BY, keys::CONFIRMED_BY] {
        record.metadata.remove(key);
    }
    record.valid_until = fact.valid_until;
    record.state = State::Active;
    if let Some(end) = end {
        let key = if matches!(end, FactEnd::Merged(_)) { keys::MERGED_INTO } else { keys::SUPERSEDED_BY };
        record.metadata.insert(key.to_owned(), json!(end.cause()));
    }
    if !confirmed_by.is_empty() {
        record.metadata.insert(keys::CONFIRMED_BY.to_owned(), json!(confirmed_by));
    }
    if end.is_some() || is_act {
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
