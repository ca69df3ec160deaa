//! Without the feature `enrichment`, there are no facts with a topic.

use memory_engine_context::IncomingMessage;
use memory_engine_core::Scope;

use super::{Injector, recalled::RecalledMemories};

impl Injector {
    /// Adds nothing.
    #[allow(clippy::unused_async, reason = "has the signature of the function with the feature")]
    pub(super) async fn add_topic_facts(&self, _: &Scope, _: &IncomingMessage<'_>, _: &mut RecalledMemories) {}
}
