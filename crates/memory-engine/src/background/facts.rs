//! Facts, and which of them hold.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    Basis, ErrorKind, Field, Filter, Kind, Order, Outcome, Pending, PutMode, Record, RecordId, Result, Scope, State,
    Write,
};
use memory_summarizer::{Change, Fact, FactExtractor, reconcile};

use super::told;
use crate::MemoryEngine;

/// How often it is tried anew when somebody else writes facts of the same person.
const TRIES: usize = 5;

impl MemoryEngine {
    /// Finds the facts in turns and brings them together with those that are known.
    pub(super) async fn note_facts(&self, extractor: &dyn FactExtractor, pending: &[Pending]) -> Result<()> {
        let mut conversations: BTreeMap<&Scope, Vec<Record>> = BTreeMap::new();
        for Pending { record, .. } in pending {
            conversations.entry(&record.scope).or_default().push(record.clone());
        }
        for (address, mut turns) in conversations {
            let meant: Vec<RecordId> = turns.iter().map(|turn| turn.id).collect();
            // A yes is understood by the question before it.
            turns.extend(self.turns_before(address, &meant).await?);
            turns.sort_by_key(Record::position);
            let found = extractor.extract(&turns).await?;
            told("facts", found.degraded.as_ref());
            let own = |fact: &Fact| fact.evidence.iter().any(|evidence| meant.contains(&evidence.record));
            let facts: Vec<Fact> = found.facts.into_iter().filter(own).collect();
            self.settle_facts(address, &facts, &turns).await?;
        }
        Ok(())
    }

    /// The turns right before these, but for those that are among them: a batch may hold any turns of a conversation.
    async fn turns_before(&self, address: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let beside = self.records().adjacent(address, ids).await?;
        let before = beside.into_iter().filter_map(|beside| beside.previous).map(|previous| previous.id);
        let before: BTreeSet<RecordId> = before.filter(|id| !ids.contains(id)).collect();
        let found = self.get_all(address, &before.into_iter().collect::<Vec<_>>()).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Brings new facts, found in `turns` at an address, together with those that are known of the same person, until nothing
    /// changes any more. With none it puts right what has become of the others.
    pub(crate) async fn settle_facts(&self, address: &Scope, facts: &[Fact], turns: &[Record]) -> Result<()> {
        let person = person(address)?;
        let (mut tries, mut barred) = (0, Vec::new());
        loop {
            let known = self.all_facts(&person).await?;
            let new = facts.iter().filter(|fact| !is_known(fact, address, &known));
            let new = new.map(|fact| self.as_record(fact, address, turns));
            let new: Vec<Record> = new.filter(|fact| !barred.contains(&fact.id)).collect();
            let changes = reconcile(&new, &known);
            if changes.is_empty() {
                return Ok(());
            }
            let writes = changes.into_iter().filter_map(|change| write(change, turns)).collect();
            match self.write(&person, writes).await {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < TRIES => {}
                Err(error) => return Err(error),
                // What was deleted stays away, and takes no other's place.
                Ok(written) if written.iter().any(|w| matches!(w.outcome, Outcome::Barred(_))) && tries < TRIES => {
                    let away = written.iter().filter(|w| matches!(w.outcome, Outcome::Barred(_)));
                    barred.extend(away.map(|written| written.id));
                }
                Ok(written) if written.iter().all(|written| written.pending.is_empty()) || tries >= TRIES => {
                    return Ok(());
                }
                // Once more: somebody else may have found other facts at the same time.
                Ok(_) => {}
            }
            tries += 1;
        }
    }

    /// A fact as a record. Its id goes by the revision of its evidence: what was withdrawn with an edited turn does not keep
    /// away what is found in it now.
    fn as_record(&self, fact: &Fact, address: &Scope, turns: &[Record]) -> Record {
        let mut record = fact.to_record(address, self.clock().now());
        let revision = |id: &RecordId| turns.iter().find(|turn| turn.id == *id).map_or(0, |turn| turn.revision);
        let revisions: Vec<String> = record.derived_from.iter().map(|id| revision(id).to_string()).collect();
        record.id = RecordId::named(address, &format!("{} at {}", record.id, revisions.join(" ")));
        record
    }

    /// The addresses of the facts that go with these records, whether or not this engine looks for facts: what one of them has
    /// replaced holds again in any case.
    pub(crate) async fn are_facts_among(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Scope>> {
        let user = scope.namespace();
        let mut all = self.records().derived(&user, ids).await?;
        all.extend(ids);
        let records = self.get_all(&user, &all).await?.into_iter().flatten();
        let mut people: Vec<Scope> = records
            .filter(|record| Fact::from_record(record).is_some())
            .map(|record| person(&record.scope))
            .collect::<Result<_>>()?;
        people.sort();
        people.dedup();
        Ok(people)
    }

    async fn all_facts(&self, person: &Scope) -> Result<Vec<Record>> {
        self.scan_all(person, Filter::eq(Field::Kind, Kind::FACT.as_str()), Order::OldestFirst).await
    }

    /// The facts that hold within `scope`, oldest first; `render` of the module `facts` shows them.
    ///
    /// # Errors
    /// The store's.
    pub async fn facts(&self, scope: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all_facts(scope).await?;
        facts.retain(|fact| fact.state == State::Active);
        Ok(facts)
    }

    /// The facts within `scope` that hold or once held, oldest first: what was merged into another one, taken back or found
    /// wrong is not among them.
    ///
    /// # Errors
    /// The store's.
    pub async fn fact_history(&self, scope: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all_facts(scope).await?;
        let merged = |fact: &Record| fact.metadata.contains_key(memory_summarizer::fact_keys::MERGED_INTO);
        facts.retain(|fact| matches!(fact.state, State::Active | State::Superseded) && !merged(fact));
        Ok(facts)
    }
}

/// Whose facts are held against each other: those of a user and agent, whatever the session.
pub(super) fn person(address: &Scope) -> Result<Scope> {
    address.agent().map_or(Ok(address.namespace()), |agent| address.namespace().with_agent(agent))
}

/// Whether this very fact was found in this very evidence before, whatever has become of it since.
fn is_known(fact: &Fact, address: &Scope, known: &[Record]) -> bool {
    let id = fact.id(address);
    let same = |record: &&Record| {
        record.scope == *address && Fact::from_record(record).is_some_and(|fact| fact.id(address) == id)
    };
    known.iter().any(|record| same(&record))
}

fn write(change: Change, turns: &[Record]) -> Option<Write> {
    let record = change.after?;
    let Some(before) = change.before else {
        let evidence = turns.iter().filter(|turn| record.derived_from.contains(&turn.id));
        let based_on = evidence.map(Basis::of).collect();
        return Some(Write { based_on, ..Write::new(record, PutMode::IfAbsent) });
    };
    Some(Write::new(record, PutMode::Update { revision: before.revision }))
}
