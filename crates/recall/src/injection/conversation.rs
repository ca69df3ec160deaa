//! Leaves out what the conversation already contains.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Record, RecordId, Scope};

use super::{
    Injector,
    recalled::{RecalledMemories, has_content},
    trace::MemoryOutcome,
};

impl Injector {
    /// Returns the first records that have content and that the conversation does not contain.
    pub(super) async fn select(
        &self,
        scope: &Scope,
        records: Vec<Record>,
        limit: usize,
        recalled: &mut RecalledMemories,
    ) -> Vec<Record> {
        let (with_content, empty): (Vec<Record>, Vec<Record>) = records.into_iter().partition(has_content);
        recalled.reject(&empty, MemoryOutcome::NoContent);
        self.without_conversation(scope, with_content, limit, recalled).await
    }

    /// Returns the first records that the conversation does not contain.
    pub(super) async fn without_conversation(
        &self,
        scope: &Scope,
        mut records: Vec<Record>,
        limit: usize,
        recalled: &mut RecalledMemories,
    ) -> Vec<Record> {
        recalled.remove_conversation_and_excluded(&mut records);
        if recalled.has_conversation() {
            self.remove_derived_from_conversation(scope, &mut records, recalled).await;
        }
        recalled.reject(records.get(limit..).unwrap_or_default(), MemoryOutcome::OverLimit);
        records.truncate(limit);
        records
    }

    /// Removes the records of which every source is in the conversation.
    async fn remove_derived_from_conversation(
        &self,
        scope: &Scope,
        records: &mut Vec<Record>,
        recalled: &mut RecalledMemories,
    ) {
        let sources: BTreeSet<RecordId> = records.iter().flat_map(|record| record.derived_from.clone()).collect();
        if sources.is_empty() {
            return;
        }
        let sources: Vec<RecordId> = sources.into_iter().collect();
        let found = match self.pipeline.parts().store.get_unexpired(scope, &sources).await {
            Ok(found) => found,
            Err(e) => return recalled.add_failure(&e),
        };
        let is_in_conversation = |source: &Record| recalled.is_in_conversation(source);
        let in_conversation: BTreeMap<RecordId, bool> =
            found.iter().flatten().map(|source| (source.id, is_in_conversation(source))).collect();
        let repeats_conversation = |record: &Record| {
            let mut sources = record.derived_from.iter();
            !record.derived_from.is_empty() && sources.all(|id| in_conversation.get(id) == Some(&true))
        };
        let (repeats, others): (Vec<Record>, Vec<Record>) = records.drain(..).partition(repeats_conversation);
        recalled.reject(&repeats, MemoryOutcome::DerivedFromConversation);
        *records = others;
    }
}
