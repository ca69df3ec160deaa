//! Contexts for a prompt: layers under a token limit, blocks of memories, and the rules of automatic injection.

mod core;
pub(crate) mod injection;
#[cfg(feature = "enrichment")]
mod opening_context;
mod pinned;
pub(crate) mod prompt;

pub use memory_engine_context::*;

#[cfg(feature = "enrichment")]
pub use crate::context::opening_context::{OpeningContext, RenderedOpening};
pub use crate::context::{
    core::{Core, CoreClass, CoreEntry},
    injection::{ConsideredMemory, InjectedMemories, Injection, InjectionTrace, MemoryOutcome, MemorySource},
    pinned::pinned_records,
    prompt::{ContextRequest, PromptContext},
};
