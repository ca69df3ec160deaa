//! Contexts for a prompt: layers under a token limit, blocks of memories, and the rules of automatic injection.

#[cfg(feature = "enrichment")]
mod opening_context;

pub use memory_engine_context::*;
pub use memory_engine_recall::{
    ConsideredMemory, ContextRequest, Core, CoreClass, CoreEntry, InjectedMemories, Injection, InjectionTrace,
    MemoryOutcome, MemorySource, PromptContext, pinned_records,
};

#[cfg(feature = "enrichment")]
pub use crate::context::opening_context::{OpeningContext, RenderedOpening};
