//! Injections that are made again, such as for the results of tools, which belong to the question before them.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_context::{IncomingMessage, InjectionDecision};
use memory_engine_core::{Record, RecordId, Result, Scope, State};

use super::{Injection, Injector, injected::InjectedMemories, recalled::RecalledMemories};

impl Injector {
    /// Returns an earlier injection again, for the same message and conversation. Empty if one of its memories has
    /// changed, was deleted, or is not active any more. The decision names no rule, because none was asked.
    ///
    /// # Errors
    /// The store's.
    pub async fn inject_again(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        conversation: &[&str],
        memories: &InjectedMemories,
    ) -> Result<Injection> {
        let found = self.pipeline.parts().store.get_unexpired(scope, &memories.ids()).await?;
        let active = found.into_iter().flatten().filter(|record| record.state == State::Active);
        let active: BTreeMap<RecordId, Record> = active.map(|record| (record.id, record)).collect();
        let mut recalled = RecalledMemories::new(BTreeSet::new(), self.traces);
        if memories.are_unchanged(&active) {
            let records = |ids: &[RecordId]| ids.iter().filter_map(|id| active.get(id).cloned()).collect();
            recalled.core = records(&memories.core);
            recalled.relevant = records(&memories.relevant);
            recalled.summaries = records(&memories.summaries);
            recalled.others = records(&memories.others);
            recalled.past = memories.past.clone();
        }
        Ok(self.render(message, conversation, recalled, InjectionDecision::nothing()))
    }
}
