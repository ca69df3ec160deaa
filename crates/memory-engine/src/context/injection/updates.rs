//! Marks messages that state what does not hold any more, and adds what replaced it.

use std::collections::BTreeSet;

use memory_engine_core::{Kind, Record, RecordId, Result, Scope, State, fact_keys};

use super::{Injector, recalled::RecalledMemories, trace::MemorySource};

impl Injector {
    /// Marks the messages from which a fact was read that was replaced since, and adds the facts that replaced it, if
    /// they hold.
    pub(super) async fn add_updates(&self, scope: &Scope, recalled: &mut RecalledMemories) -> Result<()> {
        let messages = recalled.relevant.iter().chain(&recalled.others).filter(|record| record.kind == Kind::TURN);
        let messages: Vec<RecordId> = messages.map(|turn| turn.id).collect();
        if messages.is_empty() {
            return Ok(());
        }
        let user = scope.namespace();
        let derived = self.engine.record_store().derived(&user, &messages).await?;
        let derived = self.engine.indexed_store().get_all(&user, &derived).await?;
        let facts: Vec<&Record> = derived.iter().flatten().filter(|record| record.kind == Kind::FACT).collect();
        let mut newer: BTreeSet<RecordId> = BTreeSet::new();
        for message in messages {
            let stated = facts.iter().filter(|fact| fact.derived_from.contains(&message));
            let replacements: Vec<RecordId> = stated.filter_map(|fact| replacement(fact)).collect();
            if !replacements.is_empty() {
                recalled.past.insert(message);
                newer.extend(replacements);
            }
        }
        newer.retain(|id| recalled.core.iter().chain(&recalled.relevant).all(|known| known.id != *id));
        let newer: Vec<RecordId> = newer.into_iter().collect();
        let newer = self.engine.get_all(scope, &newer).await?;
        let mut newer: Vec<Record> = newer.into_iter().flatten().filter(|fact| fact.state == State::Active).collect();
        recalled.remove_conversation_and_excluded(&mut newer);
        recalled.consider(MemorySource::Update, &newer);
        recalled.relevant.splice(0..0, newer);
        Ok(())
    }
}

/// Returns the fact that replaced a fact, if one did.
fn replacement(fact: &Record) -> Option<RecordId> {
    let newer = fact.metadata.get(fact_keys::SUPERSEDED_BY)?;
    serde_json::from_value(newer.clone()).ok()
}
