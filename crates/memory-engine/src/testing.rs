//! Tools for tests: a clock that stands still, a model with scripted replies.

pub use memory_engine_core::ManualClock;
#[cfg(feature = "llm")]
pub use memory_engine_llm::{ScriptedModel, ScriptedReply};
