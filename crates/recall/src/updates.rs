//! Statements that do not hold any more, and what holds in their place.

use memory_engine_core::{Kind, Record, RecordId, Result, State, fact_keys};
use memory_engine_indexing::IndexedStore;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::time::Instant;

use crate::{
    hit::{RecallHit, Retriever, RetrieverHit},
    read_scope::ReadScope,
    run::RecallRun,
    topics::Topics,
    trace::Stage,
};

/// Maximum number of replacements between a fact and the one that holds now. It ends a cycle.
const MAX_REPLACEMENTS: usize = 64;

/// A message that states what does not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The message.
    pub outdated: RecordId,
    /// The fact that was read from it, and does not hold any more.
    pub replaced: Record,
    /// The fact that holds now in place of what it states; `None` if nothing does.
    pub current: Option<Record>,
}

/// The fact in place of a fact that was replaced.
#[derive(Debug)]
enum Replacement {
    /// The fact was not replaced.
    None,
    /// This one holds now.
    Current(Box<Record>),
    /// None holds now.
    Ended,
}

/// Returns the messages from which a fact was read that was replaced since. A message can have several updates.
pub(crate) async fn updates(store: &IndexedStore, scope: &ReadScope, messages: &[RecordId]) -> Result<Vec<Update>> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let derived = scope.derived(store, messages).await?;
    let mut updates = Vec::new();
    for fact in scope.get(store, &derived).await?.into_iter().flatten().filter(|record| record.kind == Kind::FACT) {
        let current = match replacement(store, scope, &fact).await? {
            Replacement::None => continue,
            Replacement::Current(current) => Some(*current),
            Replacement::Ended => None,
        };
        let stating = messages.iter().filter(|message| fact.derived_from.contains(message));
        let update =
            |message: &RecordId| Update { outdated: *message, replaced: fact.clone(), current: current.clone() };
        updates.extend(stating.map(update));
    }
    Ok(updates)
}

/// Follows the facts that replaced a fact, and those into which it was merged.
async fn replacement(store: &IndexedStore, scope: &ReadScope, fact: &Record) -> Result<Replacement> {
    let mut current = fact.clone();
    let mut is_replaced = false;
    for _ in 0..MAX_REPLACEMENTS {
        let next = linked_id(&current, fact_keys::SUPERSEDED_BY);
        is_replaced |= next.is_some();
        let Some(next) = next.or_else(|| linked_id(&current, fact_keys::MERGED_INTO)) else { break };
        match scope.locate(store, next).await? {
            Some((record, true)) => current = record,
            // What holds on another branch replaces nothing on this one.
            Some((_, false)) => return Ok(Replacement::None),
            None => return Ok(if is_replaced { Replacement::Ended } else { Replacement::None }),
        }
    }
    Ok(match (is_replaced, current.state == State::Active) {
        (false, _) => Replacement::None,
        (true, true) => Replacement::Current(Box::new(current)),
        (true, false) => Replacement::Ended,
    })
}

fn linked_id(fact: &Record, key: &str) -> Option<RecordId> {
    serde_json::from_value(fact.metadata.get(key)?.clone()).ok()
}

impl RecallRun<'_> {
    /// Marks the hits that are outdated, and puts what holds now before them: the fact, which is added if it is no hit,
    /// and the messages that state it. A query of the past gets what held then. The hits stay as they are if the
    /// updates cannot be read in time.
    pub(crate) async fn with_updates(&mut self, hits: Vec<RecallHit>) -> Vec<RecallHit> {
        if !self.plan.ranks_by_features() || self.plan.query.as_of.is_some() {
            return hits;
        }
        let messages = hits.iter().filter(|hit| hit.record.kind == Kind::TURN).map(|hit| hit.record.id);
        let messages: Vec<RecordId> = messages.collect();
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Updates, updates(&self.parts.store, &self.scope, &messages)).await;
        let updates = self.trace.finish(Stage::Updates, started, outcome);
        self.apply_updates(hits, updates)
    }

    fn apply_updates(&self, hits: Vec<RecallHit>, updates: Vec<Update>) -> Vec<RecallHit> {
        if updates.is_empty() {
            return hits;
        }
        let topics = Topics::of_message(&self.plan.query.text);
        let mut current_facts: FxHashMap<RecordId, Vec<Record>> = FxHashMap::default();
        // The messages of which the part that matters for a topic does not hold any more.
        let mut over = FxHashSet::default();
        for Update { outdated, replaced, current } in updates {
            if topics.as_ref().is_some_and(|topics| topics.weight_of(&replaced).is_some()) {
                over.insert(outdated);
            }
            current_facts.entry(outdated).or_default().extend(current);
        }
        // Before each outdated hit come the current facts, and what states them, as far as they are not placed yet.
        let mut waiting: Vec<Option<RecallHit>> = hits.into_iter().map(Some).collect();
        let mut placed: Vec<RecallHit> = Vec::with_capacity(waiting.len());
        for index in 0..waiting.len() {
            let Some(mut hit) = waiting[index].take() else { continue };
            if let Some(facts) = current_facts.remove(&hit.record.id) {
                hit.outdated = true;
                for fact in facts {
                    self.place_current(fact, &hit, &mut waiting, &mut placed);
                }
                let is_of_topic = |found: &RetrieverHit| found.retriever == Retriever::Topic;
                if over.contains(&hit.record.id) && hit.found_by.iter().all(is_of_topic) {
                    continue;
                }
            }
            placed.push(hit);
        }
        placed.truncate(self.plan.limit);
        placed
    }

    /// Places a fact and the waiting hits that state it, with the relevance of the outdated hit if that is higher.
    fn place_current(
        &self,
        fact: Record,
        outdated: &RecallHit,
        waiting: &mut [Option<RecallHit>],
        placed: &mut Vec<RecallHit>,
    ) {
        let sources: FxHashSet<RecordId> = fact.derived_from.iter().copied().collect();
        let states_it = |hit: &RecallHit| hit.record.id == fact.id || sources.contains(&hit.record.id);
        let is_added = self.plan.admits(&fact)
            && !placed.iter().chain(waiting.iter().flatten()).any(|hit| hit.record.id == fact.id);
        let mut current: Vec<RecallHit> =
            waiting.iter_mut().filter_map(|slot| slot.take_if(|hit| states_it(hit))).collect();
        if is_added {
            let found = RetrieverHit { retriever: Retriever::Update, rank: 1, score: outdated.score };
            let added = RecallHit { found_by: vec![found], ..RecallHit::new(fact) };
            current.insert(0, added);
        }
        for mut hit in current {
            hit.relevant |= outdated.relevant;
            hit.relevance = hit.relevance.max(outdated.relevance);
            hit.score = hit.score.max(outdated.score);
            placed.push(hit);
        }
    }
}
