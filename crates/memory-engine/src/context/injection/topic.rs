//! Adds the facts that belong to the topic of a message.

use memory_engine_context::IncomingMessage;
use memory_engine_core::{Kind, Record, Scope};

use super::{Injector, kind_filter, recalled::RecalledMemories, trace::MemorySource};
use crate::verbs::facts::topic_facts::{facts_of_topics, topics_of};

/// Number of newest facts that are filtered by the topic. The recall finds older ones.
const TOPIC_SCAN_ROWS: usize = 1000;
/// Maximum number of facts that are injected because of the topic.
const TOPIC_MAX_FACTS: usize = 3;

impl Injector {
    /// Puts the facts of the topic before the other relevant memories, and drops the last memories above the limit. A
    /// fact is skipped if it, or a record that it is derived from, is already among the relevant memories.
    pub(super) async fn add_topic_facts(
        &self,
        scope: &Scope,
        message: &IncomingMessage<'_>,
        recalled: &mut RecalledMemories,
    ) {
        let topics = topics_of(message.text);
        if topics.is_empty() {
            return;
        }
        let facts = self.newest_records(scope, message, kind_filter(Kind::FACT), TOPIC_SCAN_ROWS).await;
        let facts = recalled.records_or_failure(facts);
        let facts = facts_of_topics(facts, &topics, self.engine.settings().clock().now());
        recalled.consider(MemorySource::Topic, &facts);
        let mut added = self.select(scope, facts, TOPIC_MAX_FACTS, recalled).await;
        let is_stated = |fact: &Record| {
            recalled.relevant.iter().any(|known| known.id == fact.id || fact.derived_from.contains(&known.id))
        };
        added.retain(|fact| !is_stated(fact));
        added.append(&mut recalled.relevant);
        added.truncate(self.limit);
        recalled.relevant = added;
    }
}
