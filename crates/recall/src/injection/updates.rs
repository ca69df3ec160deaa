//! Marks messages that state what does not hold any more, and adds what replaced it.

use memory_engine_context::IncomingMessage;
use memory_engine_core::{Kind, Record, RecordId, Result, Scope};

use super::{Injector, recalled::RecalledMemories, trace::MemorySource};

impl Injector {
    /// Marks the outdated ones of the messages that no recall has found, and adds the facts that hold now. A recall
    /// does the same for its hits.
    pub(super) async fn add_updates(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        recalled: &mut RecalledMemories,
    ) -> Result<()> {
        let messages = recalled.others.iter().filter(|record| record.kind == Kind::TURN);
        let messages: Vec<RecordId> = messages.map(|turn| turn.id).collect();
        let updates = self.pipeline.updates(&scope.namespace(), &messages).await?;
        recalled.past.extend(updates.iter().map(|update| update.outdated));
        let mut newer: Vec<Record> = updates.into_iter().filter_map(|update| update.current).collect();
        newer.sort_by_key(|fact| fact.id);
        newer.dedup_by_key(|fact| fact.id);
        let visible = self.pipeline.parts().scene_policy.filter(message.scene);
        newer.retain(|fact| {
            let is_known = recalled.core.iter().chain(&recalled.relevant).any(|known| known.id == fact.id);
            !is_known && visible.as_ref().is_none_or(|filter| filter.matches(fact))
        });
        recalled.consider(MemorySource::Update, &newer);
        let newer = self.without_conversation(scope, newer, usize::MAX, recalled).await;
        recalled.relevant.splice(0..0, newer);
        Ok(())
    }
}
