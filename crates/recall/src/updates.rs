//! Statements that do not hold any more, and what holds in their place.

use memory_engine_core::{Kind, Record, RecordId, Result, State, fact_keys};
use memory_engine_indexing::IndexedStore;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::time::Instant;

use crate::{
    hit::{RecallHit, Retriever, RetrieverHit},
    read_scope::ReadScope,
    run::RecallRun,
    trace::Stage,
};

/// Maximum number of replacements between a fact and the one that holds now.
const MAX_REPLACEMENTS: usize = 8;

/// A message that states what does not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The message.
    pub outdated: RecordId,
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
        updates.extend(stating.map(|message| Update { outdated: *message, current: current.clone() }));
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
        match scope.get(store, &[next]).await?.pop().flatten() {
            Some(record) => current = record,
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
        let mut current_facts: FxHashMap<RecordId, Vec<Record>> = FxHashMap::default();
        for Update { outdated, current } in updates {
            current_facts.entry(outdated).or_default().extend(current);
        }
        if current_facts.is_empty() {
            return hits;
        }
        // In place of an outdated hit come what holds now, as far as it is not placed yet, and then the hit itself.
        let mut waiting: Vec<Option<RecallHit>> = hits.into_iter().map(Some).collect();
        let mut placed: Vec<RecallHit> = Vec::with_capacity(waiting.len());
        for index in 0..waiting.len() {
            let Some(mut hit) = waiting[index].take() else { continue };
            if let Some(facts) = current_facts.remove(&hit.record.id) {
                hit.outdated = true;
                for fact in facts {
                    self.place_current(fact, &hit, &mut waiting, &mut placed);
                }
                // A topic asks for what matters now.
                if hit.found_by.iter().all(|found| found.retriever == Retriever::Topic) {
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
            let added = RecallHit { found_by: vec![found], ..RecallHit::without_scores(fact) };
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
