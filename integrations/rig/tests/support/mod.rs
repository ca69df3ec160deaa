//! Helpers of the tests.

use memory_engine::{MemoryEngine, Scope};
use rig_core::completion::CompletionRequest;

pub(crate) async fn engine() -> MemoryEngine {
    MemoryEngine::builder().in_memory().build().await.unwrap()
}

pub(crate) fn lin() -> Scope {
    Scope::user("lin").unwrap()
}

/// Returns everything that a model was sent, as JSON.
pub(crate) fn sent(request: &CompletionRequest) -> String {
    serde_json::to_string(request).unwrap()
}
