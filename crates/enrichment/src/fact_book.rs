//! Reads and reconciles the facts in a store.
//!
//! Reasons: `docs/design/decisions/0020-enrichment-is-idempotent.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::future::join_all;
use memory_engine_core::{
    Basis, ErrorKind, Field, Filter, Kind, Locale, Order, Outcome, PutMode, Record, RecordId, Result, ReviewPolicy,
    ReviewSource, RuleId, Scope, State, Trust, Write, history::is_history_key,
};
use memory_engine_indexing::{IndexedStore, inherit_expiry};
use memory_engine_summarizer::{Change, ExtractedFact, FactExtractor, fact_keys, reconcile};

use crate::log::log_degraded;

/// Maximum number of further passes of [`FactBook::add`], after a conflict with another writer, a blocked fact or a
/// change.
const MAX_RETRIES: usize = 5;

/// The facts in a store.
#[derive(Debug, Clone)]
pub struct FactBook {
    store: Arc<IndexedStore>,
    locale: Locale,
    review: ReviewPolicy,
}

/// The facts that were extracted from turns of one conversation.
struct ConversationFacts<'a> {
    address: &'a Scope,
    facts: Vec<ExtractedFact>,
    /// The turns, with those directly before them.
    turns: Vec<Record>,
}

impl FactBook {
    pub(crate) fn new(store: Arc<IndexedStore>, locale: Locale, review: ReviewPolicy) -> Self {
        Self { store, locale, review }
    }

    pub(crate) fn locale(&self) -> &Locale {
        &self.locale
    }

    /// Returns the current facts within `scope`, oldest first.
    ///
    /// # Errors
    /// The store's error.
    pub async fn current(&self, scope: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all(scope).await?;
        facts.retain(|fact| fact.state == State::Active);
        Ok(facts)
    }

    /// Returns the facts within `scope` that are or were true, oldest first, without those that were merged into
    /// another one, revoked or deleted.
    ///
    /// # Errors
    /// The store's error.
    pub async fn history(&self, scope: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all(scope).await?;
        let is_merged = |fact: &Record| fact.metadata.contains_key(fact_keys::MERGED_INTO);
        facts.retain(|fact| matches!(fact.state, State::Active | State::Superseded) && !is_merged(fact));
        Ok(facts)
    }

    /// Returns the facts that were extracted from these records, in any state, in order of time.
    ///
    /// # Errors
    /// The store's error.
    pub async fn derived_from(&self, address: &Scope, records: &[RecordId]) -> Result<Vec<Record>> {
        let mut facts = self.store.get_derived(address, records).await?;
        facts.retain(|fact| fact.kind == Kind::FACT);
        facts.sort_by_key(Record::position);
        Ok(facts)
    }

    /// Returns the scopes of the people with a fact that is one of these records or derived from one. It does not
    /// matter whether this engine extracts facts: if such a fact is deleted, the one that it superseded must hold
    /// again.
    ///
    /// # Errors
    /// The store's error.
    pub async fn people_with_facts(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Scope>> {
        let user = scope.namespace();
        let mut ids_with_derived = self.store.records().derived(&user, ids).await?;
        ids_with_derived.extend(ids);
        let records = self.store.get_all(&user, &ids_with_derived).await?.into_iter().flatten();
        let mut people: Vec<Scope> = records
            .filter(|record| ExtractedFact::from_record(record).is_some())
            .map(|record| person(&record.scope))
            .collect::<Result<_>>()?;
        people.sort();
        people.dedup();
        Ok(people)
    }

    /// Reconciles the facts of a person after some of them were deleted or retracted.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing facts of the same person.
    pub async fn reconcile(&self, person: &Scope) -> Result<()> {
        self.add(person, &[], &[], Trust::Derived, &ReviewPolicy::default()).await
    }

    /// Extracts the facts in turns and reconciles them with the known ones. New facts get this trust. A tombstone
    /// blocks a fact of [`Trust::Derived`], but not one that a person states again.
    pub(crate) async fn extract(&self, extractor: &dyn FactExtractor, turns: &[Record], trust: Trust) -> Result<()> {
        let mut conversations: BTreeMap<&Scope, Vec<Record>> = BTreeMap::new();
        for record in turns {
            conversations.entry(&record.scope).or_default().push(record.clone());
        }
        let mut by_person: BTreeMap<Scope, Vec<ConversationFacts<'_>>> = BTreeMap::new();
        let mut failure = None;
        for (address, turns) in conversations {
            match self.extract_from(extractor, address, turns).await {
                Ok(extracted) => by_person.entry(person(address)?).or_default().push(extracted),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        // The facts of different people do not depend on each other, and a store can commit them together.
        let added = join_all(by_person.into_values().map(|conversations| async {
            for ConversationFacts { address, facts, turns } in conversations {
                self.add(address, &facts, &turns, trust, &self.review).await?;
            }
            Ok(())
        }));
        added.await.into_iter().collect::<Result<()>>()?;
        failure.map_or(Ok(()), Err)
    }

    /// Extracts the facts in turns of one conversation.
    async fn extract_from<'a>(
        &self,
        extractor: &dyn FactExtractor,
        address: &'a Scope,
        mut turns: Vec<Record>,
    ) -> Result<ConversationFacts<'a>> {
        let ids: Vec<RecordId> = turns.iter().map(|turn| turn.id).collect();
        // The meaning of "yes" depends on the question before it.
        turns.extend(self.turns_before(address, &ids).await?);
        turns.sort_by_key(Record::position);
        let said_in = turns.iter().rev().find(|turn| ids.contains(&turn.id)).and_then(Record::zone);
        let locale = said_in.map_or_else(|| self.locale.clone(), |zone| self.locale.clone().with_zone(zone));
        let extracted = extractor.extract(&turns, &locale).await?;
        log_degraded("facts", extracted.degraded.as_ref());
        let is_own = |fact: &ExtractedFact| fact.evidence.iter().any(|evidence| ids.contains(&evidence.record));
        let facts = extracted.facts.into_iter().filter(is_own).collect();
        Ok(ConversationFacts { address, facts, turns })
    }

    /// Returns the facts with which those of a person are compared. The user's own facts neither replace those of a
    /// project nor are they replaced by them.
    async fn known(&self, person: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all(person).await?;
        facts.retain(|fact| fact.scope.project() == person.project());
        Ok(facts)
    }

    async fn all(&self, scope: &Scope) -> Result<Vec<Record>> {
        self.store.scan_all(scope, Filter::eq(Field::Kind, Kind::FACT.as_str()), Order::OldestFirst).await
    }

    /// Returns the turns directly before these, except for those in `ids`. A batch may contain any turns of a
    /// conversation.
    async fn turns_before(&self, address: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let adjacent = self.store.records().adjacent(address, ids).await?;
        let before = adjacent.into_iter().filter_map(|adjacent| adjacent.previous).map(|previous| previous.id);
        let before: BTreeSet<RecordId> = before.filter(|id| !ids.contains(id)).collect();
        let turns = self.store.get_all(address, &before.into_iter().collect::<Vec<_>>()).await?;
        Ok(turns.into_iter().flatten().collect())
    }

    /// Adds facts that were extracted from `turns` at an address to the known facts of the same person, and reconciles
    /// them until nothing changes, at most [`MAX_RETRIES`] times again. Facts that the policy reviews are stored as
    /// pending and supersede nothing.
    pub(crate) async fn add(
        &self,
        address: &Scope,
        facts: &[ExtractedFact],
        turns: &[Record],
        trust: Trust,
        review: &ReviewPolicy,
    ) -> Result<()> {
        let person = person(address)?;
        let mut retries = 0;
        let mut blocked = Vec::new();
        loop {
            let known = self.known(&person).await?;
            let new = facts.iter().filter(|fact| !is_known(fact, address, &known));
            let new = new.map(|fact| self.to_record(fact, address, turns, trust));
            let new = new.filter(|fact| !blocked.contains(&fact.id));
            let new = new.filter_map(|fact| review.apply(source_of(&fact), fact));
            let (for_review, accepted): (Vec<Record>, Vec<Record>) = new.partition(|fact| fact.state == State::Pending);
            let changes = reconcile(&accepted, &self.with_evidence(&person, known).await?);
            if changes.is_empty() && for_review.is_empty() {
                return Ok(());
            }
            let for_review = for_review.into_iter().map(|fact| to_new_write(fact, turns));
            let writes = changes.into_iter().filter_map(|change| to_write(change, turns)).chain(for_review).collect();
            match self.store.write(&person, writes).await {
                Err(error) if error.kind() == ErrorKind::Conflict && retries < MAX_RETRIES => {}
                Err(error) => return Err(error),
                Ok(written) => {
                    let newly_blocked = written.iter().filter(|written| matches!(written.outcome, Outcome::Blocked(_)));
                    let newly_blocked: Vec<RecordId> = newly_blocked.map(|written| written.id).collect();
                    let is_last = retries >= MAX_RETRIES;
                    // A record that changed has items in the queue.
                    let has_changed = written.iter().any(|written| !written.pending.is_empty());
                    if is_last || (newly_blocked.is_empty() && !has_changed) {
                        return Ok(());
                    }
                    // A fact blocked by a tombstone must not supersede another one. Reconcile again without it, and
                    // with the facts that another writer may have added at the same time.
                    blocked.extend(newly_blocked);
                }
            }
            retries += 1;
        }
    }

    /// Returns the writes that accept facts of one person after a review, and change the states of other facts
    /// accordingly. `accepted` are stored facts, already without the state pending, and `new` ones are stated by the
    /// reviewer.
    pub(crate) async fn acceptance(
        &self,
        person: &Scope,
        accepted: Vec<Record>,
        new: &[Record],
        sources: &[Record],
    ) -> Result<Vec<Write>> {
        let known = self.known(person).await?;
        let mut known = self.with_evidence(person, known).await?;
        for record in &accepted {
            let is_same = |known: &&mut Record| known.id == record.id && known.scope == record.scope;
            match known.iter_mut().find(is_same) {
                Some(known) => known.clone_from(record),
                None => known.push(record.clone()),
            }
        }
        let changes = reconcile(new, &known);
        let is_unchanged = |record: &Record| {
            let is_same = |change: &Change| {
                change.after.as_ref().is_some_and(|after| after.id == record.id && after.scope == record.scope)
            };
            !changes.iter().any(is_same)
        };
        let to_update = |record: Record| {
            let mode = PutMode::Update { revision: record.revision };
            Write::new(record, mode)
        };
        let unchanged: Vec<Write> = accepted.into_iter().filter(is_unchanged).map(to_update).collect();
        Ok(changes.into_iter().filter_map(|change| to_write(change, sources)).chain(unchanged).collect())
    }

    /// Returns the facts without those that were revoked with their evidence. A fact that was revoked by itself still
    /// ends older ones, but a statement that was taken back ends nothing.
    async fn with_evidence(&self, person: &Scope, mut facts: Vec<Record>) -> Result<Vec<Record>> {
        let revoked = facts.iter().filter(|fact| fact.state == State::Revoked);
        let evidence: Vec<RecordId> = revoked.flat_map(|fact| fact.derived_from.clone()).collect();
        if evidence.is_empty() {
            return Ok(facts);
        }
        let evidence = self.store.get_all(&person.namespace(), &evidence).await?.into_iter().flatten();
        let active: BTreeSet<RecordId> =
            evidence.filter(|record| record.state == State::Active).map(|record| record.id).collect();
        facts.retain(|fact| fact.state != State::Revoked || fact.derived_from.iter().all(|id| active.contains(id)));
        Ok(facts)
    }

    /// Returns a fact as a record. Its id depends on the revisions of its evidence, so that the tombstone of a fact
    /// that was deleted with an edited turn does not block the same fact of the new text.
    fn to_record(&self, fact: &ExtractedFact, address: &Scope, turns: &[Record], trust: Trust) -> Record {
        let mut record = fact.to_record(address, self.store.clock().now());
        record.trust = trust;
        let source = record.derived_from.last().and_then(|id| turns.iter().find(|turn| turn.id == *id));
        let metadata = source.into_iter().flat_map(|turn| &turn.metadata);
        for (key, value) in metadata.filter(|(key, _)| !is_history_key(key)) {
            record.metadata.entry(key).or_insert_with(|| value.clone());
        }
        inherit_expiry(&mut record, turns.iter().filter(|turn| fact.evidence.iter().any(|e| e.record == turn.id)));
        let revision = |id: &RecordId| turns.iter().find(|turn| turn.id == *id).map_or(0, |turn| turn.revision);
        let revisions: Vec<String> = record.derived_from.iter().map(|id| revision(id).to_string()).collect();
        record.id = RecordId::named(address, &format!("{} at {}", record.id, revisions.join(" ")));
        record
    }
}

/// Returns the scope within which facts are compared: user and agent, in any session.
pub(crate) fn person(address: &Scope) -> Result<Scope> {
    address.agent().map_or(Ok(address.namespace()), |agent| address.namespace().with_agent(agent))
}

/// Returns true if this fact was extracted from the same evidence before, in any state.
fn is_known(fact: &ExtractedFact, address: &Scope, known: &[Record]) -> bool {
    let id = fact.id(address);
    known.iter().any(|record| {
        record.scope == *address && ExtractedFact::from_record(record).is_some_and(|fact| fact.id(address) == id)
    })
}

/// Returns the write of a change; `None` for a deletion.
fn to_write(change: Change, turns: &[Record]) -> Option<Write> {
    let record = change.after?;
    Some(match change.before {
        Some(before) => Write::new(record, PutMode::Update { revision: before.revision }),
        None => to_new_write(record, turns),
    })
}

/// Returns the write of a new fact. It is written only if its evidence has not changed.
fn to_new_write(record: Record, turns: &[Record]) -> Write {
    let evidence = turns.iter().filter(|turn| record.derived_from.contains(&turn.id));
    let preconditions = evidence.map(Basis::of).collect();
    Write { based_on: preconditions, ..Write::new(record, PutMode::IfAbsent) }
}

/// Returns the source of an extracted fact: rules, or a model. An extractor that names no rule counts as a model.
fn source_of(record: &Record) -> ReviewSource {
    match ExtractedFact::from_record(record).and_then(|fact| fact.rule) {
        Some(rule) if rule != RuleId::MODEL => ReviewSource::RuleFacts,
        Some(_) | None => ReviewSource::ModelFacts,
    }
}
