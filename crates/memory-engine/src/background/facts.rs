//! Facts, and which of them hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
    time::Duration,
};

use memory_engine_core::{
    Basis, Error, ErrorKind, Field, Filter, Job, Kind, Order, Outcome, PutMode, Record, RecordId, Result, Scope, State,
    Trust, Write,
};
use memory_engine_summarizer::{Change, Fact, FactExtractor, RuleFacts, is_said, reconcile};

use super::told;
use crate::MemoryEngine;

/// How often it is tried anew when somebody else writes facts of the same person.
const TRIES: usize = 5;

// The patterns are compiled in, so that reading them cannot fail.
static RULES: LazyLock<Option<RuleFacts>> = LazyLock::new(|| RuleFacts::built_in().ok());

/// Turns that were stored, and what is known from them.
///
/// ```
/// use std::time::Duration;
/// use memory_engine::{Digest, Kind, MemoryEngine, Record, Scope, SystemClock};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().digest(Digest::by_rules()?).build().await?;
/// let lin = Scope::user("lin")?;
/// let turn = Record::new(lin.clone(), Kind::TURN, "我对海鲜过敏。", &SystemClock);
/// let learned = memory.learn(&lin, vec![turn], Duration::from_secs(60)).await?;
/// assert_eq!((learned.facts[0].text.as_str(), learned.pending), ("用户对海鲜过敏。", false));
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// The turns, in their order.
    pub turns: Vec<RecordId>,
    /// The facts that come from them, also those that say nothing new or have been superseded already.
    pub facts: Vec<Record>,
    /// Whether the facts are still to be found, in the background.
    pub pending: bool,
}

impl MemoryEngine {
    /// Stores turns at an address, all or none, and finds the facts in them at once: by the digest's extractor, or by the rules
    /// where there is none. What is not done within `patience`, or fails, is left to the background, if this engine finds
    /// facts there.
    ///
    /// What was noted with a turn in its metadata is noted with its facts, too, under keys that are not a fact's own. A fact
    /// that is found at once and was deleted before is new, since somebody says it again.
    ///
    /// # Errors
    /// Those of [`store`](Self::store) with [`PutMode::Create`]; nothing is stored then.
    ///
    /// # Cancel safety
    /// Dropping the future may leave turns whose facts nobody looks for until [`redigest`](Self::redigest).
    pub async fn learn(&self, address: &Scope, turns: Vec<Record>, patience: Duration) -> Result<Learned> {
        let jobs = |turn: &Record| self.jobs_for(turn).into_iter().filter(|job| *job != Job::Facts).collect();
        let writes = turns.into_iter().map(|turn| Write { jobs: jobs(&turn), ..Write::new(turn, PutMode::Create) });
        let written = self.write(address, writes.collect()).await?;
        let turns: Vec<RecordId> = written.into_iter().map(|written| written.id).collect();
        let found = tokio::time::timeout(patience, self.find_facts(address, &turns)).await;
        let late = |_| Err(Error::new(ErrorKind::Timeout, "facts", "they were not found in time"));
        match found.unwrap_or_else(late) {
            Ok(facts) => Ok(Learned { turns, facts, pending: false }),
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), "facts are left to the background: {error}");
                self.jobs().enqueue(address, &turns, Job::Facts).await?;
                self.wake();
                Ok(Learned { turns, facts: Vec::new(), pending: true })
            }
        }
    }

    /// Finds the facts in stored turns of one address now, and gives those that come from them, whatever has become of each.
    async fn find_facts(&self, address: &Scope, turns: &[RecordId]) -> Result<Vec<Record>> {
        let mut tries = 0;
        loop {
            match self.try_find_facts(address, turns).await {
                // The background writes down at the same time what the turns are about.
                Err(error) if error.kind() == ErrorKind::Conflict && tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_find_facts(&self, address: &Scope, turns: &[RecordId]) -> Result<Vec<Record>> {
        let stored = self.get_all(address, turns).await?;
        let said: Vec<Record> = stored.into_iter().flatten().filter(is_said).collect();
        if said.is_empty() {
            return Ok(Vec::new());
        }
        match (&self.digest().facts, &*RULES) {
            (Some(extractor), _) => self.note_facts(extractor.as_ref(), &said, Trust::User).await?,
            (None, Some(rules)) => self.note_facts(rules, &said, Trust::User).await?,
            (None, None) => {}
        }
        self.facts_from(address, turns).await
    }

    /// The facts that were found in these records, whatever has become of each, in their order.
    ///
    /// # Errors
    /// The store's.
    pub async fn facts_from(&self, address: &Scope, records: &[RecordId]) -> Result<Vec<Record>> {
        let derived = self.records().derived(address, records).await?;
        let mut facts: Vec<Record> = self.get_all(address, &derived).await?.into_iter().flatten().collect();
        facts.retain(|fact| fact.kind == Kind::FACT);
        facts.sort_by_key(Record::position);
        Ok(facts)
    }

    /// Finds the facts in turns and brings them together with those that are known. New ones get this trust: what was deleted
    /// stays away from what is derived, and not from what is said again.
    pub(super) async fn note_facts(&self, extractor: &dyn FactExtractor, said: &[Record], trust: Trust) -> Result<()> {
        let mut conversations: BTreeMap<&Scope, Vec<Record>> = BTreeMap::new();
        for record in said {
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
            self.settle(address, &facts, &turns, trust).await?;
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
        self.settle(address, facts, turns, Trust::Derived).await
    }

    async fn settle(&self, address: &Scope, facts: &[Fact], turns: &[Record], trust: Trust) -> Result<()> {
        let person = person(address)?;
        let (mut tries, mut barred) = (0, Vec::new());
        loop {
            let known = self.all_facts(&person).await?;
            let new = facts.iter().filter(|fact| !is_known(fact, address, &known));
            let new = new.map(|fact| self.as_record(fact, address, turns, trust));
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
    fn as_record(&self, fact: &Fact, address: &Scope, turns: &[Record], trust: Trust) -> Record {
        let mut record = fact.to_record(address, self.clock().now());
        record.trust = trust;
        let said = record.derived_from.last().and_then(|id| turns.iter().find(|turn| turn.id == *id));
        for (key, value) in said.into_iter().flat_map(|turn| &turn.metadata) {
            record.metadata.entry(key).or_insert_with(|| value.clone());
        }
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
    /// ```
    /// use memory_engine::{Digest, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().digest(Digest::by_rules()?).background(false).build().await?;
    /// let lin = Scope::user("lin")?;
    /// for said in ["I live in Porto.", "I live in Lisbon now."] {
    ///     memory.remember(&lin, said).await?;
    ///     memory.drain(&lin, |_| ()).await?;
    /// }
    /// let now: Vec<String> = memory.facts(&lin).await?.into_iter().map(|fact| fact.text).collect();
    /// assert_eq!(now, ["The user lives in Lisbon."]);
    /// assert_eq!(memory.fact_history(&lin).await?.len(), 2); // and Porto, with the day until when it held
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's.
    pub async fn fact_history(&self, scope: &Scope) -> Result<Vec<Record>> {
        let mut facts = self.all_facts(scope).await?;
        let merged = |fact: &Record| fact.metadata.contains_key(memory_engine_summarizer::fact_keys::MERGED_INTO);
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
