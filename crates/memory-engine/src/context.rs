//! Contexts for a prompt: layers under a token limit, blocks of memories, and the rules of automatic injection.

pub use memory_engine_context::*;

#[cfg(feature = "enrichment")]
pub use crate::opening_context::{OpeningContext, RenderedOpening};
pub use crate::{
    injection::{ConsideredMemory, Injection, InjectionTrace, MemoryOutcome, MemorySource},
    prompt::{ContextRequest, PromptContext},
};
