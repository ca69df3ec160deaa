//! Marks messages that state what does not hold any more, and adds what replaced it.

use memory_engine_context::IncomingMessage;
use memory_engine_core::{Kind, Record, RecordId, Result, Scope, State, fact_keys};

use super::{Injector, recalled::RecalledMemories, trace::MemorySource};

/// Maximum number of replacements between a fact and the one that holds now.
const MAX_REPLACEMENTS: usize = 8;

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

impl Injector {
    /// Marks the messages from which a fact was read that was replaced since, and adds the facts that hold now.
    pub(super) async fn add_updates(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        recalled: &mut RecalledMemories,
    ) -> Result<()> {
        let messages = recalled.relevant.iter().chain(&recalled.others).filter(|record| record.kind == Kind::TURN);
        let messages: Vec<RecordId> = messages.map(|turn| turn.id).collect();
        if messages.is_empty() {
            return Ok(());
        }
        let user = scope.namespace();
        let derived = self.engine.record_store().derived(&user, &messages).await?;
        let derived = self.engine.indexed_store().get_all(&user, &derived).await?;
        let mut newer: Vec<Record> = Vec::new();
        for fact in derived.into_iter().flatten().filter(|record| record.kind == Kind::FACT) {
            let stating = messages.iter().filter(|message| fact.derived_from.contains(message));
            match self.replacement(&user, &fact).await? {
                Replacement::None => continue,
                Replacement::Current(current) => newer.push(*current),
                Replacement::Ended => {}
            }
            recalled.past.extend(stating);
        }
        newer.sort_by_key(|fact| fact.id);
        newer.dedup_by_key(|fact| fact.id);
        let visible = self.engine.settings().scene_policy().filter(message.scene);
        newer.retain(|fact| {
            let is_known = recalled.core.iter().chain(&recalled.relevant).any(|known| known.id == fact.id);
            !is_known && visible.as_ref().is_none_or(|filter| filter.matches(fact))
        });
        recalled.consider(MemorySource::Update, &newer);
        let newer = self.without_conversation(scope, newer, usize::MAX, recalled).await;
        recalled.relevant.splice(0..0, newer);
        Ok(())
    }

    /// Follows the facts that replaced a fact, and those into which it was merged.
    async fn replacement(&self, user: &Scope, fact: &Record) -> Result<Replacement> {
        let mut current = fact.clone();
        let mut is_replaced = false;
        for _ in 0..MAX_REPLACEMENTS {
            let next = linked_id(&current, fact_keys::SUPERSEDED_BY);
            is_replaced |= next.is_some();
            let Some(next) = next.or_else(|| linked_id(&current, fact_keys::MERGED_INTO)) else { break };
            match self.engine.indexed_store().get_all(user, &[next]).await?.pop().flatten() {
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
}

fn linked_id(fact: &Record, key: &str) -> Option<RecordId> {
    serde_json::from_value(fact.metadata.get(key)?.clone()).ok()
}
